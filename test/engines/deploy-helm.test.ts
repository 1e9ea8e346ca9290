// The chart, the plain manifests and the examples against Helm itself and Kubernetes's own types: the API server knows
// every field, invalid values are rejected, and no secret is readable.

import { compare } from "bcryptjs";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { parse as parseYaml, stringify } from "yaml";

import { plainFile, plainManifests } from "../../deploy/kubernetes/render.ts";
import { chart, checkManifests, kubeTools, renderChart, runHelm } from "../../engines/helm.ts";
import { orSkip } from "../../engines/cache.ts";
import { runProcess } from "../../engines/process.ts";
import { repository, runGpulse } from "../../engines/program.ts";
import { parseSink } from "../../src/sinks/open.ts";
import { parseSource } from "../../src/sources/open.ts";
import { parse as parsePromql } from "../../src/query/parse/parse.ts";
import {
  examples,
  type Manifest,
  manifestsOf,
  ofKind,
  rendered,
  renderedText,
  workloads,
} from "./deploy-chart.ts";

const deploy = path.join(repository, "deploy");
const read = (...parts: string[]): string => readFileSync(path.join(deploy, ...parts), "utf8");
const { version } = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8")) as {
  version: string;
};

beforeEach(async (context) => {
  await orSkip(context, kubeTools());
});

async function temporary(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-chart-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The chart with the text of a values file. */
async function renderValues(text: string): Promise<string> {
  const values = path.join(await temporary(), "values.yaml");
  await writeFile(values, text);
  return renderChart({ release: "gp", namespace: "gpu", values });
}

async function mistakes(text: string): Promise<string[]> {
  const checked = await checkManifests(text);
  expect(checked.length).toBeGreaterThan(0);
  return checked.flatMap(({ kind, name, errors }) =>
    errors.map((error) => `${kind} ${name}: ${error}`),
  );
}

test("the check refuses what the API server would: unknown, doubled and mistyped fields", async () => {
  const wrong = async (spec: string): Promise<string> =>
    (await mistakes(`apiVersion: v1\nkind: Service\nmetadata: { name: a }\nspec: ${spec}`)).join();
  expect(await wrong("{ clusterIP: None }")).toBe("");
  expect(await wrong("{ clusterIp: None }")).toMatch(/unknown field "spec\.clusterIp"/);
  expect(await wrong("{ clusterIP: None, clusterIP: None }")).toMatch(/already set/);
  expect(await wrong("{ ports: [{ port: http }] }")).toMatch(/cannot unmarshal string/);
  expect((await mistakes("apiVersion: v1\nkind: Servce\nmetadata: { name: a }")).join()).toMatch(
    /no kind "Servce"/,
  );
  expect(
    (
      await mistakes(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: { name: A_b }\nspec: { sorce: {} }",
      )
    ).join(),
  ).toMatch(/unknown field "spec\.sorce"/);
});

test.each(["", ...examples])("helm lint finds nothing, strictly (examples/%s)", async (example) => {
  const values = example === "" ? [] : ["-f", path.join(chart, "examples", `${example}.yaml`)];
  const done = await runHelm(["lint", "--strict", chart, ...values]);
  expect(done.stdout).not.toMatch(/\[(WARNING|ERROR|INFO)\]/);
  expect(done.code).toBe(0);
});

test.each(examples)(
  "Kubernetes's types take every field that examples/%s.yaml renders",
  async (example) => {
    expect(await mistakes(await renderedText(example))).toEqual([]);
  },
);

test.each(examples)("examples/%s.yaml runs this version's image", async (example) => {
  const images = workloads(await rendered(example)).flatMap(({ spec }) =>
    spec.template.spec.containers.map(({ image }) => image),
  );
  expect(new Set(images)).toEqual(new Set([`gpulse:${version}`]));
});

test.each([
  ["agent.prot=9400", /'\/agent'.*'prot' not allowed/],
  ["agent.port=80", /'\/agent\/port'.*minimum/],
  ["agent.interval=fast", /'\/agent\/interval'/],
  ["agent.runAsUser=0", /'\/agent\/runAsUser'.*minimum/],
  ["agent.vendors.nvida.enabled=true", /'nvida' not allowed/],
  ["agent.resources.limits.cpu=lots", /'\/agent\/resources\/limits\/cpu'/],
  ["agent.kernelLog.url=http://loki:3100", /'\/agent\/kernelLog\/url'/],
  ["agent.logLevel=loud", /'\/agent\/logLevel'/],
  ["hub.store=victoria:8428", /'\/hub\/store'/],
  ["hub.auth.password=x", /'password' not allowed/],
  ["monitoring.nodeLabels.a-b=c", /propertyNames|'a-b'/],
  ["privileged=true", /'privileged' not allowed/],
  ["agent.maxUnavailable=0%", /'\/agent\/maxUnavailable'/],
  ["fullnameOverride=GPU", /'\/fullnameOverride'/],
  ["hub.store=null,hub.port=null", /'\/hub': missing property 'port'/],
  ["agent.runAsUser=null", /'\/agent': missing property 'runAsUser'/],
  ["agent.tls=null", /'\/agent': missing property 'tls'/],
])("%s is refused with the place of the mistake", async (wrong, message) => {
  await expect(renderChart({ release: "gp", namespace: "gpu", set: [wrong] })).rejects.toThrow(
    message,
  );
});

test.each([
  [
    "a Deployment's or operator's usual label on pods",
    "agent: { podLabels: { app.kubernetes.io/part-of: ml, app.kubernetes.io/name: ml, team: a } }",
  ],
  [
    "labels that ours have, on objects for the operator and Grafana",
    `monitoring:
  podMonitor: { enabled: true, labels: { app.kubernetes.io/part-of: ml } }
  prometheusRule: { enabled: true, labels: { app.kubernetes.io/part-of: ml } }
  dashboards: { enabled: true, labels: { app.kubernetes.io/part-of: ml } }`,
  ],
  [
    "a node selector that names the system",
    "hub: { enabled: true, nodeSelector: { kubernetes.io/os: linux, pool: infra } }",
  ],
  ["no limit of processor time", "agent: { resources: { limits: { cpu: null } } }"],
  [
    "no limits and no requests",
    "agent: { resources: { limits: null, requests: null } }\nhub: { enabled: true, resources: null }",
  ],
  [
    "amounts as numbers",
    "hub: { enabled: true, resources: { limits: { cpu: 1.5, memory: 4294967296, ephemeral-storage: 2Gi } } }",
  ],
  [
    "a pull secret and a digest",
    "image: { tag: 0.2.0@sha256:0123456789abcdef, pullSecrets: [{ name: regcred }] }\nhub: { enabled: true }",
  ],
  [
    "every taint tolerated",
    "agent: { vendors: { nvidia: { tolerations: [{ operator: Exists }] } } }\nhub: { enabled: true, tolerations: [{ operator: Exists }] }",
  ],
  [
    "every Secret given",
    `agent: { tls: { existingSecret: a }, push: { url: "https://hub:9410", tokenSecret: b, caSecret: c } }
hub: { enabled: true, auth: { existingSecret: d }, tls: { existingSecret: e } }`,
  ],
  ["a user name that YAML reads as a number", 'hub: { enabled: true, auth: { user: "123" } }'],
  [
    "no dynamic volumes",
    'hub: { enabled: true, persistence: { storageClassName: "-", size: 1.5Ti } }',
  ],
  [
    "a hub alone",
    "agent: { enabled: false }\nhub: { enabled: true, podInfo: { enabled: true }, nodeTaints: { mode: on } }",
  ],
  ["neither agents nor hub", "agent: { enabled: false }"],
  ["a vendor without its section", "agent: { vendors: { nvidia: null, sim: null } }"],
  [
    "empty sections",
    "image: {}\nagent: {}\nmonitoring: {}\nnetworkPolicy: {}\nserviceAccount: {}\nhub: {}",
  ],
])("Kubernetes's types take %s", async (_, text) => {
  const output = await renderValues(text);
  if (ofKind(manifestsOf(output), "Service").length > 0) expect(await mistakes(output)).toEqual([]);
  expect(output).not.toMatch(/<no value>|<nil>|%!|(?::|=)\s*null$/m);
});

/** The settings whose default is empty, by path; and those that need a value, with their section. */
function settings(): {
  readonly optional: readonly string[][];
  readonly needed: readonly string[][];
} {
  const optional: string[][] = [];
  const needed: string[][] = [];
  const walk = (section: object, at: readonly string[]): void => {
    for (const [key, value] of Object.entries(section) as [string, unknown][]) {
      const place = [...at, key];
      const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
      if (isMap && Object.keys(value).length > 0) walk(value, place);
      const isEmpty = ['""', "false", "[]", "{}"].includes(JSON.stringify(value));
      (isEmpty ? optional : needed).push(place);
    }
  };
  walk(parseYaml(readFileSync(path.join(chart, "values.yaml"), "utf8")) as object, []);
  return { optional, needed };
}

function nested(paths: readonly (readonly string[])[], base: object): object {
  const values = structuredClone(base) as Record<string, unknown>;
  for (const place of paths) {
    let section = values;
    for (const key of place.slice(0, -1))
      section = (section[key] ??= {}) as Record<string, unknown>;
    section[place.at(-1) ?? ""] = null;
  }
  return values;
}

/** Helm drops what a values file sets to null, such as a key whose value is a comment. */
test("a blank optional setting means its empty default", async () => {
  const base = { hub: { enabled: true }, agent: { vendors: { sim: { enabled: true } } } };
  const switches = new Set(["hub.enabled", "agent.vendors.sim.enabled"]);
  const blank = settings().optional.filter((place) => !switches.has(place.join(".")));
  expect(blank.length).toBeGreaterThan(40);
  const withoutPassword = (text: string): string =>
    text.replaceAll(/^( +)(password|"gpulse"): ".*"$/gm, "$1$2");
  expect(withoutPassword(await renderValues(stringify(nested(blank, base))))).toBe(
    withoutPassword(await renderValues(stringify(base))),
  );
});

test("a blank setting that needs a value is refused with its place", async () => {
  /** Blank means none: lists of labels and tolerations, amounts, a vendor; and no class, no host folder. */
  const none =
    /^(image\.tag|hub\.ingress|agent\.(sysfs|vendors\.\w+)|agent\.vendors\.\w+\.(nodeLabels|tolerations|runtimeClassName)|networkPolicy\.(prometheus|hub)|monitoring\.dashboards\.labels.*|.*\bresources.*)$/;
  const needed = settings().needed.filter((place) => !none.test(place.join(".")));
  expect(needed.length).toBeGreaterThan(40);
  // One rendering for the settings and one for the sections of each depth: Helm lists all mistakes of one file.
  const isSection = (place: readonly string[]): boolean =>
    needed.some(
      (other) => other.length > place.length && place.every((key, at) => key === other[at]),
    );
  const levelOf = (place: readonly string[]): number => (isSection(place) ? place.length : 0);
  for (const level of new Set(needed.map(levelOf))) {
    const places = needed.filter((place) => levelOf(place) === level);
    const message = await renderValues(stringify(nested(places, {}))).then(
      () => "nothing was refused",
      (error: unknown) => String(error),
    );
    const missing = [...message.matchAll(/at '(.*)': missing propert(?:y|ies) (.*)/g)].flatMap(
      ([, section = "", keys = ""]) =>
        [...keys.matchAll(/'([^']+)'/g)].map(([, key]) => `${section}/${key}`),
    );
    expect(missing.sort()).toEqual(places.map((place) => `/${place.join("/")}`).sort());
  }
});

test.each([
  ["on", "on"],
  ["off", undefined],
  ["dry-run", "dry-run"],
])("node taints %s without quotes, which YAML may read as true or false", async (written, mode) => {
  const text = await renderValues(`hub: { enabled: true, nodeTaints: { mode: ${written} } }`);
  expect(/--node-taints=(\S+)/.exec(text)?.[1]).toBe(mode);
});

test("the hub's ingress has its host, class and certificate, and is the address in notifications", async () => {
  const text = await renderedText("ingress");
  const [ingress] = ofKind(manifestsOf(text), "Ingress");
  expect(ingress?.spec).toEqual({
    ingressClassName: "nginx",
    rules: [
      {
        host: "gpulse.example",
        http: {
          paths: [
            {
              path: "/",
              pathType: "Prefix",
              backend: { service: { name: "gp-gpulse-hub", port: { name: "http" } } },
            },
          ],
        },
      },
    ],
    tls: [{ hosts: ["gpulse.example"], secretName: "gpulse-hub-ingress" }],
  });
  expect(text).toContain('"--external-url=https://gpulse.example"');
  expect(text).toContain("--behind-proxy");
  const plain = await renderValues("hub: { enabled: true, ingress: { host: a.example } }");
  expect(plain).toContain('"--external-url=http://a.example"');
  expect(await renderedText("sim")).not.toContain("--external-url");
});

test("two monitors for one agent are refused", async () => {
  const set = ["monitoring.podMonitor.enabled=true", "monitoring.serviceMonitor.enabled=true"];
  await expect(renderChart({ release: "gp", namespace: "gpu", set })).rejects.toThrow(
    /scraped twice/,
  );
});

test.each(examples)(
  "examples/%s.yaml: a generated password stands in its Secret and nowhere else",
  async (example) => {
    const text = await renderedText(example);
    const secrets = ofKind(manifestsOf(text), "Secret");
    expect(secrets).toHaveLength(
      ["sim", "tls", "node-taints", "pod-info", "ingress"].includes(example) ? 1 : 0,
    );
    for (const { stringData = {} } of secrets) {
      const { user = "", password = "" } = stringData;
      expect(password).toMatch(/^[A-Za-z0-9]{40}$/);
      expect(text.split(password)).toHaveLength(2);
      const web = parseYaml(stringData["web.yml"] ?? "") as {
        basic_auth_users: Record<string, string>;
      };
      expect(await compare(password, web.basic_auth_users[user] ?? "")).toBe(true);
    }
    const variables = workloads(manifestsOf(text)).flatMap(({ spec }) =>
      spec.template.spec.containers.flatMap(({ env }) => env.map(({ name }) => name)),
    );
    expect(variables.filter((name) => /TOKEN|PASS|SECRET|KEY/.test(name))).toEqual([]);
  },
);

test.each(examples.filter((one) => ["sim", "tls", "hub-victoriametrics"].includes(one)))(
  "the scrape configuration of examples/%s.yaml is one that the hub reads",
  async (example) => {
    const config = ofKind(await rendered(example), "ConfigMap").find(
      ({ data }) => data?.["prometheus.yml"] !== undefined,
    );
    const file = path.join(await temporary(), "prometheus.yml");
    await writeFile(file, config?.data?.["prometheus.yml"] ?? "");
    const done = await runGpulse(["config", "check", file]);
    expect(`${done.stdout}${done.stderr}`).toMatch(/valid/);
    expect(done.code).toBe(0);
  },
);

test("the operator gets the same rules and dashboards as everyone else", async () => {
  const manifests = await rendered("nvidia");
  const rules = ofKind(manifests, "PrometheusRule").map(({ spec }) => spec);
  const ruleFiles = readdirSync(path.join(deploy, "prometheus", "rules"))
    .filter((file) => file.endsWith(".yml"))
    .sort();
  expect(rules).toEqual(
    ruleFiles.map((file): unknown => parseYaml(read("prometheus", "rules", file))),
  );
  const boards = ofKind(manifests, "ConfigMap").flatMap(({ data = {} }) => Object.entries(data));
  const boardFiles = readdirSync(path.join(deploy, "grafana", "dashboards")).filter((file) =>
    file.endsWith(".json"),
  );
  expect(boards.map(([file]) => file).sort()).toEqual(boardFiles.sort());
  for (const [file, text] of boards)
    expect(JSON.parse(text)).toEqual(JSON.parse(read("grafana", "dashboards", file)));
});

test("the package holds the rules and dashboards themselves, and a release of it fits into its Secret", async () => {
  const folder = await temporary();
  const done = await runHelm(["package", chart, "--destination", folder]);
  expect(done.code, done.stderr).toBe(0);
  const archive = path.join(folder, `gpulse-${version}.tgz`);
  const { stdout } = await runProcess("tar", ["-tzf", archive]);
  expect(stdout).toContain("gpulse/files/rules/use.yml\n");
  expect(stdout).toContain("gpulse/files/grafana/dashboards/fleet.json\n");
  expect(stdout).not.toMatch(/rules\/(tests|stack)\/|influxdb|provisioning/);
  // Helm stores the chart and its rendered manifests, both compressed, in one Secret of at most 1 MiB.
  expect(statSync(archive).size).toBeLessThan(300_000);
});

test("the plain manifests are what the chart renders now", async () => {
  const written = readFileSync(plainFile, "utf8");
  expect(written, "run node scripts/run-ts.mjs deploy/kubernetes/render.ts").toBe(
    await plainManifests(),
  );
  expect(await mistakes(written)).toEqual([]);
  const kustomization = read("kubernetes", "base", "kustomization.yaml");
  expect(await mistakes(kustomization)).toEqual([]);
  expect(await mistakes(read("kubernetes", "base", "namespace.yaml"))).toEqual([]);
  const { resources, images } = parseYaml(kustomization) as {
    resources: string[];
    images: unknown[];
  };
  expect(resources.sort()).toEqual(["agent.yaml", "namespace.yaml"]);
  expect(images).toEqual([{ name: "gpulse", newTag: version }]);
});

test("Argo CD's Application is valid, and the chart takes its values", async () => {
  const text = read("argocd", "application.yaml");
  expect(await mistakes(text)).toEqual([]);
  const { spec } = parseYaml(text) as {
    spec: { source: { path: string; targetRevision: string; helm: { valuesObject: unknown } } };
  };
  expect(path.join(repository, spec.source.path)).toBe(chart);
  expect(spec.source.targetRevision).toBe(`v${version}`);
  const values = path.join(await temporary(), "values.yaml");
  await writeFile(values, stringify(spec.source.helm.valuesObject));
  const output = await renderChart({ release: "gpulse", namespace: "gpulse", values });
  expect(await mistakes(output)).toEqual([]);
  expect(ofKind(manifestsOf(output), "Secret")).toEqual([]);
  const names = manifestsOf(output).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(names).toHaveLength(new Set(names).size);
});

test("the autoscaling examples are valid, and their queries parse", async () => {
  const files = readdirSync(path.join(deploy, "kubernetes", "examples")).sort();
  expect(files).toEqual(["batch-worker.yaml", "hpa-queue-and-idle.yaml", "keda-batch-worker.yaml"]);
  const manifests: Manifest[] = [];
  for (const file of files) {
    const text = read("kubernetes", "examples", file);
    expect(await mistakes(text), file).toEqual([]);
    manifests.push(...manifestsOf(text));
  }
  const [target] = ofKind(manifests, "Deployment");
  const scalers = [
    ...ofKind(manifests, "HorizontalPodAutoscaler"),
    ...ofKind(manifests, "ScaledObject"),
  ];
  for (const { spec } of scalers)
    expect(spec).toMatchObject({ scaleTargetRef: { name: target?.metadata.name } });
  const queries = [
    ...ofKind(manifests, "ScaledObject").flatMap(({ spec }) =>
      (spec as { triggers: { metadata: { query: string } }[] }).triggers.map(
        ({ metadata }) => metadata.query,
      ),
    ),
    ...ofKind(manifests, "PrometheusRule").flatMap(({ spec }) =>
      (spec as { groups: { rules: { expr: string }[] }[] }).groups.flatMap(({ rules }) =>
        rules.map(({ expr }) => expr),
      ),
    ),
  ];
  expect(queries).toHaveLength(4);
  for (const query of queries) expect(() => parsePromql(query)).not.toThrow();
});

test("the manifests of pipes are valid, and gpulse takes their sources, sinks and options", async () => {
  for (const file of readdirSync(path.join(deploy, "kubernetes", "pipes"))) {
    const text = read("kubernetes", "pipes", file);
    expect(await mistakes(text), file).toEqual([]);
    const manifests = manifestsOf(text);
    const [pipe] = ofKind(manifests, "Deployment");
    if (pipe === undefined) throw new Error(`${file} has no Deployment`);
    const { template, selector } = pipe.spec as {
      selector: unknown;
      template: { spec: { containers: { image: string; args: string[] }[] } };
    };
    const [{ image, args }] = template.spec.containers as [{ image: string; args: string[] }];
    expect(image).toBe(`gpulse:${version}`);
    const urls = (flag: string): string[] =>
      args.flatMap((arg) => (arg.startsWith(`${flag}=`) ? [arg.slice(flag.length + 1)] : []));
    expect(urls("--from").map((url) => parseSource(url).definition.name)).toEqual(["kafka"]);
    expect(urls("--to").map((url) => parseSink(url).definition.name)).toEqual(["clickhouse"]);
    const flags = args.slice(1).map((arg) => arg.replace(/=.*/s, ""));
    const help = (await runGpulse(["pipe", "--help"])).stdout;
    for (const flag of flags) expect(help).toContain(flag);
    expect(args.join()).not.toMatch(/password=(?!file:)/);
    const [budget] = ofKind(manifests, "PodDisruptionBudget");
    expect(budget?.spec).toMatchObject({ selector });
  }
});
