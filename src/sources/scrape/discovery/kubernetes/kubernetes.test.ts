import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { plainHttpClient } from "../../../../net/http/auth-config.ts";
import { silentLog } from "../../../../base/log.ts";
import type { KubernetesDiscovery } from "../../config/types.ts";
import { emitted } from "../../../../../test/fixtures/sources/scrape.ts";
import type { DiscoveredGroup } from "../group.ts";
import {
  type ApiServer,
  startApiServer,
} from "../../../../../test/fixtures/sources/scrape-discovery-kubernetes.ts";
import { kubernetesDiscovery } from "./kubernetes.ts";

const ends: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function cluster(lists: Readonly<Record<string, object[]>>): Promise<ApiServer> {
  const api = await startApiServer();
  ends.push(() => api.close());
  for (const [path_, objects] of Object.entries(lists)) api.lists.set(path_, objects);
  return api;
}

function follow(config: Partial<KubernetesDiscovery>, around = {}) {
  const discovery = kubernetesDiscovery(
    {
      role: "pod",
      namespaces: { names: [], ownNamespace: false },
      selectors: [],
      attachNodeMetadata: false,
      http: plainHttpClient,
      ...config,
    },
    { log: silentLog, random: () => 0, env: {}, ...around },
  );
  ends.unshift(() => discovery.close());
  return emitted(discovery);
}

const pods = "/api/v1/pods";
const pod = (name: string, version: string, ip: string) => ({
  metadata: { name, namespace: "default", resourceVersion: version },
  spec: { containers: [{ name: "main", ports: [{ containerPort: 80 }] }] },
  status: { podIP: ip },
});
const addresses = (groups: readonly DiscoveredGroup[]): unknown =>
  groups.flatMap(({ targets }) => targets.map((labels) => labels["__address__"]));
const watched = (api: ApiServer, path_ = pods): Promise<void> =>
  vi.waitFor(() => expect(api.watching(path_)).toBe(1));

test("what is listed and what a watch reports are followed: new, changed, gone", async () => {
  const api = await cluster({ [pods]: [pod("a", "1", "10.0.0.1")] });
  const groups = follow({ apiServer: api.url });
  expect(addresses(await groups.next())).toEqual(["10.0.0.1:80"]);
  await watched(api);
  api.send(pods, "ADDED", pod("b", "101", "10.0.0.2"));
  expect(addresses(await groups.next())).toEqual(["10.0.0.1:80", "10.0.0.2:80"]);
  api.send(pods, "MODIFIED", pod("b", "102", "10.0.0.3"));
  expect(addresses(await groups.next())).toEqual(["10.0.0.1:80", "10.0.0.3:80"]);
  api.send(pods, "DELETED", pod("a", "103", "10.0.0.1"));
  expect(addresses(await groups.next())).toEqual(["10.0.0.3:80"]);
});

test("a group whose object did not change is the same group", async () => {
  const api = await cluster({ [pods]: [pod("a", "1", "10.0.0.1")] });
  const groups = follow({ apiServer: api.url });
  const [before] = await groups.next();
  await watched(api);
  api.send(pods, "ADDED", pod("b", "101", "10.0.0.2"));
  expect((await groups.next())[0]).toBe(before);
});

test("long lists come in pages", async () => {
  const api = await cluster({
    [pods]: Array.from({ length: 7 }, (_, at) => pod(`p${at}`, String(at + 1), `10.0.0.${at}`)),
  });
  api.pageSize = 3;
  expect(await follow({ apiServer: api.url }).next()).toHaveLength(7);
});

test("a watch that ends goes on where it was, also from a bookmark", async () => {
  const api = await cluster({ [pods]: [] });
  const groups = follow({ apiServer: api.url });
  await groups.next();
  await watched(api);
  api.send(pods, "BOOKMARK", { metadata: { resourceVersion: "150" } });
  api.drop();
  await vi.waitFor(() => expect(api.requests.at(-1)).toMatch(/resourceVersion=150&/));
  await watched(api);
  api.send(pods, "ADDED", pod("b", "151", "10.0.0.2"));
  expect(addresses(await groups.next())).toEqual(["10.0.0.2:80"]);
});

test("a place the server has forgotten is listed again, and what went meanwhile is gone", async () => {
  const api = await cluster({ [pods]: [pod("a", "1", "10.0.0.1")] });
  const groups = follow({ apiServer: api.url });
  await groups.next();
  await watched(api);
  api.lists.set(pods, [pod("b", "200", "10.0.0.2")]);
  api.send(pods, "ERROR", { code: 410, message: "too old resource version" });
  expect(addresses(await groups.next())).toEqual(["10.0.0.2:80"]);
});

test("a server that refuses or goes away keeps what was known", async () => {
  const api = await cluster({ [pods]: [pod("a", "1", "10.0.0.1")] });
  const groups = follow({ apiServer: api.url });
  await groups.next();
  await watched(api);
  api.lists.delete(pods);
  api.send(pods, "ERROR", { code: 410 });
  const before = api.requests.length;
  await vi.waitFor(() => expect(api.requests.length).toBeGreaterThan(before), { timeout: 5_000 });
  api.lists.set(pods, [pod("a", "1", "10.0.0.1"), pod("c", "2", "10.0.0.3")]);
  expect(addresses(await groups.next())).toEqual(["10.0.0.1:80", "10.0.0.3:80"]);
});

test("only the namespaces and selectors that are given are asked for", async () => {
  const api = await cluster({
    "/api/v1/namespaces/one/pods": [],
    "/api/v1/namespaces/own/pods": [],
  });
  const dir = await mkdtemp(path.join(tmpdir(), "gpulse-kube-"));
  ends.push(() => rm(dir, { recursive: true }));
  await writeFile(path.join(dir, "namespace"), "own\n");
  await follow(
    {
      apiServer: api.url,
      namespaces: { names: ["one"], ownNamespace: true },
      selectors: [{ role: "pod", label: "app=gpulse", field: "spec.nodeName=n1" }],
    },
    { accountDir: dir },
  ).next();
  const lists = api.requests.filter((url) => !url.includes("watch="));
  expect(lists.sort()).toEqual(
    ["one", "own"].map(
      (namespace) =>
        `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Dgpulse&fieldSelector=spec.nodeName%3Dn1&limit=500`,
    ),
  );
});

test("a kubeconfig reports the server and the token", async () => {
  const api = await cluster({ [pods]: [pod("a", "1", "10.0.0.1")] });
  const dir = await mkdtemp(path.join(tmpdir(), "gpulse-kube-"));
  ends.push(() => rm(dir, { recursive: true }));
  const kubeconfigFile = path.join(dir, "config");
  await writeFile(
    kubeconfigFile,
    JSON.stringify({
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
      clusters: [{ name: "k", cluster: { server: `${api.url}/` } }],
      users: [{ name: "u", user: { token: "let-me-in" } }],
    }),
  );
  expect(await follow({ kubeconfigFile }).next()).toHaveLength(1);
  expect(api.authorizations[0]).toBe("Bearer let-me-in");
});

test("outside of a cluster it finds nothing and says what is missing", async () => {
  const reported: unknown[] = [];
  const log = { ...silentLog, warn: (_: string, fields: unknown) => void reported.push(fields) };
  expect(await follow({}, { log }).next()).toEqual([]);
  expect(JSON.stringify(reported)).toMatch(/give api_server or kubeconfig_file/);
});
