// A real Kubernetes control plane on loopback: etcd, API server, controller-manager and scheduler, with kwok simulating nodes and
// pods. There is no kubelet and no container: kwok marks a pod as running, at an address of 127.1.0.0/16 where a test may start
// the real program.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse, stringify } from "yaml";

import { requiredTool } from "./cache.ts";
import { type Authority, makeAuthority } from "./certificates.ts";
import { kubernetesPrograms } from "./kubernetes-programs.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

const START_TIMEOUT_MS = 120_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MIRROR_RETRY_MS = 200;

export interface ApiResponse<T = unknown> {
  readonly status: number;
  readonly body: T;
  /** The API server's warnings: unknown fields, deprecated versions, pods that violate a pod security level. */
  readonly warnings: readonly string[];
}

export interface ListedObject {
  readonly metadata: { readonly uid: string };
}

export interface RunningKubernetes {
  readonly url: string;
  readonly token: string;
  readonly caFile: string;
  /** The CA that signed the certificates of the API server and of its front-proxy clients. */
  readonly authority: Authority;
  /** Custom resource definitions of the Prometheus operator, for `define`. */
  readonly prometheusOperator: string;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  api<T = unknown>(
    method: string,
    at: string,
    body?: unknown,
    token?: string,
  ): Promise<ApiResponse<T>>;
  /** Creates the objects; throws the API server's error if one is rejected. */
  create(at: string, ...objects: readonly unknown[]): Promise<void>;
  /** Calls the listener with all objects, by uid, after every change, until the signal aborts. */
  mirror<T extends ListedObject>(
    at: string,
    onChange: (objects: ReadonlyMap<string, T>) => void,
    signal: AbortSignal,
  ): void;
  /** The API server alone: nothing else is stopped, and its data stays in etcd. */
  readonly apiServer: { stop(): Promise<void>; start(): Promise<void> };
  /** Creates the custom resource definitions in the folder and waits until their kinds are served. */
  define(definitions: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Throws EngineMissingError if the programs are not in the cache. `hasKubelets`: nodes are those of kubelets that the test starts,
 * and kwok plays none.
 */
export async function startKubernetes(hasKubelets = false): Promise<RunningKubernetes> {
  const programs = await kubernetesPrograms();
  const etcd = requiredTool("etcd");
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-kubernetes-"));
  const running: RunningProcess[] = [];
  const file = (name: string, text: string): string => {
    const at = path.join(folder, name);
    writeFileSync(at, text, { mode: 0o600 });
    return at;
  };
  const stop = async (): Promise<void> => {
    for (const one of running.toReversed()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const start = (name: string, command: string, ...args: readonly string[]): RunningProcess => {
    const started = startProcess(command, args, { name });
    running.push(started);
    return started;
  };
  try {
    const authority = makeAuthority("gpulse test cluster");
    const server = authority.issue({
      commonName: "kube-apiserver",
      names: ["127.0.0.1", "localhost"],
    });
    const accounts = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const caFile = file("ca.crt", authority.cert);
    const proxy = authority.issue({ commonName: "front-proxy" });
    const accountKey = file(
      "accounts.key",
      accounts.privateKey.export({ type: "sec1", format: "pem" }).toString(),
    );
    const token = randomBytes(16).toString("hex");
    const [port, etcdPort, peerPort] = await Promise.all([freePort(), freePort(), freePort()]);
    const url = `https://127.0.0.1:${port}`;
    const kubeconfig = file("kubeconfig", kubeconfigOf(url, caFile, token));
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    start(
      "etcd",
      etcd,
      `--data-dir=${path.join(folder, "etcd")}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
      "--log-level=error",
    );
    const apiServerArgs = [
      `--etcd-servers=${etcdUrl}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      `--tls-cert-file=${file("server.crt", server.cert)}`,
      `--tls-private-key-file=${file("server.key", server.key)}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${accountKey}`,
      `--service-account-signing-key-file=${accountKey}`,
      `--token-auth-file=${file("tokens.csv", `${token},admin,admin,system:masters\n`)}`,
      "--authorization-mode=Node,RBAC",
      // Requests to aggregated APIs, such as external.metrics.k8s.io, are forwarded with the caller's name.
      `--requestheader-client-ca-file=${caFile}`,
      "--requestheader-allowed-names=front-proxy",
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      `--proxy-client-cert-file=${file("proxy.crt", proxy.cert)}`,
      `--proxy-client-key-file=${file("proxy.key", proxy.key)}`,
      "--allow-privileged=true",
      // This etcd cannot stream lists. Without the gate clients are rejected once and then list; with it kwok retries for half a
      // minute.
      "--feature-gates=WatchList=false",
      // A loopback endpoint is rejected, and nothing needs the endpoint.
      "--endpoint-reconciler-type=none",
    ];
    const agent = new Agent({ ca: authority.cert, keepAlive: true, maxSockets: 64 });
    const api: RunningKubernetes["api"] = (method, at, body, as = token) =>
      call(agent, { url: `${url}${at}`, method, body, token: as });
    let apiServer: RunningProcess;
    const startApiServer = async (): Promise<void> => {
      apiServer = start("kube-apiserver", programs.apiServer, ...apiServerArgs);
      await waitUntil(
        {
          what: "the API server to be ready",
          timeoutMs: START_TIMEOUT_MS,
          giveUp: () =>
            apiServer.exited() === undefined ? undefined : apiServer.output().slice(-2_000),
        },
        async () => ((await api("GET", "/readyz")).status === 200 ? true : undefined),
      );
    };
    await startApiServer();
    start(
      "kube-controller-manager",
      programs.controllerManager,
      `--kubeconfig=${kubeconfig}`,
      `--service-account-private-key-file=${accountKey}`,
      `--root-ca-file=${caFile}`,
      "--leader-elect=false",
      "--secure-port=0",
      // kwok sends no heartbeats.
      "--node-monitor-grace-period=100h",
      "--node-monitor-period=1s",
      // A new node is not ready at first; by default only one node per ten seconds is processed.
      "--node-eviction-rate=100",
      "--secondary-node-eviction-rate=100",
      "--horizontal-pod-autoscaler-sync-period=1s",
      "--kube-api-qps=200",
      "--kube-api-burst=400",
    );
    start(
      "kube-scheduler",
      programs.scheduler,
      `--kubeconfig=${kubeconfig}`,
      "--leader-elect=false",
      "--secure-port=0",
      "--kube-api-qps=500",
      "--kube-api-burst=1000",
    );
    if (!hasKubelets)
      start(
        "kwok",
        programs.kwok,
        `--kubeconfig=${kubeconfig}`,
        "--manage-all-nodes=true",
        "--cidr=127.1.0.0/16",
      );
    await waitUntil(
      { what: "the default service account", timeoutMs: START_TIMEOUT_MS },
      async () => {
        const { status } = await api("GET", "/api/v1/namespaces/default/serviceaccounts/default");
        return status === 200 ? true : undefined;
      },
    );
    const create: RunningKubernetes["create"] = async (at, ...objects) => {
      for (const object of objects) {
        const { status, body } = await api("POST", at, object);
        if (status >= 300) throw new Error(`POST ${at}: ${status} ${JSON.stringify(body)}`);
      }
    };
    return {
      url,
      token,
      caFile,
      authority,
      prometheusOperator: programs.definitions,
      kubeconfig,
      api,
      create,
      mirror: (at, onChange, signal) =>
        void mirror({ url, token, agent, api }, at, onChange, signal),
      apiServer: { start: startApiServer, stop: async () => void (await apiServer.stop()) },
      define: async (definitions) => {
        for (const name of readdirSync(definitions))
          await define({ api, create }, readFileSync(path.join(definitions, name), "utf8"));
      },
      stop: async () => {
        agent.destroy();
        await stop();
      },
    };
  } catch (error) {
    const words = running.map((one) => one.output().slice(-1_500)).join("\n");
    await stop();
    throw error instanceof Error ? new Error(`${error.message}\n${words}`) : error;
  }
}

interface MirrorContext extends Pick<RunningKubernetes, "url" | "token" | "api"> {
  readonly agent: Agent;
}

interface ListedObjects<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

/** Lists and watches, as Kubernetes clients do: after the end of a watch it lists again. */
async function mirror<T extends ListedObject>(
  { url, token, agent, api }: MirrorContext,
  at: string,
  onChange: (objects: ReadonlyMap<string, T>) => void,
  signal: AbortSignal,
): Promise<void> {
  const separator = at.includes("?") ? "&" : "?";
  while (!signal.aborted) {
    try {
      const { status, body } = await api<ListedObjects<T>>("GET", at);
      if (status !== 200) throw new Error(`GET ${at}: ${status}`);
      const objects = new Map(body.items.map((object) => [object.metadata.uid, object]));
      onChange(objects);
      const query = `watch=1&resourceVersion=${body.metadata.resourceVersion}`;
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` };
        const sent = request(
          `${url}${at}${separator}${query}`,
          { agent, headers, signal },
          resolve,
        );
        sent.on("error", reject).end();
      });
      let rest = "";
      for await (const text of response.setEncoding("utf8") as AsyncIterable<string>) {
        const lines = `${rest}${text}`.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          const { type, object } = JSON.parse(line) as { type: string; object: T };
          if (type === "ERROR") throw new Error(line);
          if (type === "DELETED") objects.delete(object.metadata.uid);
          else objects.set(object.metadata.uid, object);
        }
        onChange(objects);
      }
    } catch {
      // The next list contains the missed changes.
    }
    await sleep(MIRROR_RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
}

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async function define(
  { api, create }: Pick<RunningKubernetes, "api" | "create">,
  text: string,
): Promise<void> {
  const definition = parse(text) as {
    metadata: { name: string };
    spec: {
      group: string;
      names: { plural: string };
      versions: { name: string; served: boolean }[];
    };
  };
  await create(DEFINITIONS, definition);
  const { group, names, versions } = definition.spec;
  const version = versions.find(({ served }) => served)?.name;
  await waitUntil(
    { what: `${definition.metadata.name} to be served`, timeoutMs: START_TIMEOUT_MS },
    async () => {
      const { status } = await api("GET", `/apis/${group}/${version}/${names.plural}?limit=1`);
      return status === 200 ? true : undefined;
    },
  );
}

/** A kubeconfig for one user of the cluster. */
export function kubeconfigOf(url: string, caFile: string, token: string): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    clusters: [{ name: "test", cluster: { server: url, "certificate-authority": caFile } }],
    users: [{ name: "test", user: { token } }],
  });
}

interface Call {
  readonly url: string;
  readonly method: string;
  readonly body: unknown;
  readonly token: string;
}

/** A body that is not text is sent as JSON; PATCH is a strategic merge. */
async function call<T>(agent: Agent, { url, method, body, token }: Call): Promise<ApiResponse<T>> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const type = method === "PATCH" ? "application/strategic-merge-patch+json" : "application/json";
    const sent = request(
      url,
      {
        method,
        agent,
        timeout: REQUEST_TIMEOUT_MS,
        headers: {
          authorization: `Bearer ${token}`,
          ...(text === undefined ? {} : { "content-type": type }),
        },
      },
      (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.once("end", () => {
          const answer = Buffer.concat(pieces).toString("utf8");
          const isJson = response.headers["content-type"]?.includes("json") ?? false;
          const warnings = response.headers["warning"] ?? [];
          resolve({
            status: response.statusCode ?? 0,
            body: (isJson ? JSON.parse(answer) : answer) as T,
            warnings: [warnings].flat(),
          });
        });
      },
    );
    sent.once("timeout", () => sent.destroy(new Error(`${method} ${url} took too long`)));
    sent.once("error", reject);
    sent.end(text);
  });
}
