// Checks the files of deploy/compose against each other and against the configuration shared with the native stack.

import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";

import { runProcess, startProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { parseKernelLog } from "../../src/sinks/kernel-log/define.ts";

const compose = path.join(repository, "deploy/compose");
const read = (...names: string[]): string => readFileSync(path.join(compose, ...names), "utf8");
const composeFiles = readdirSync(compose).filter((name) => /^compose.*\.yaml$/.test(name));
const whole = read("compose.yaml");
const example = read(".env.example");
const guide = readFileSync(path.join(repository, "docs/guides/compose.md"), "utf8").replace(
  /^[\s\S]*## Ports and memory/,
  "",
);

interface Service {
  readonly profiles: readonly string[];
  readonly ports?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}
const [, second] = parseAllDocuments(whole, { merge: true, logLevel: "silent" });
if (second === undefined) throw new Error("compose.yaml has no second document");
const { services } = second.toJS() as { readonly services: Readonly<Record<string, Service>> };
const targets = Object.fromEntries(
  readdirSync(path.join(compose, "targets")).map((name) => [
    name.replace(/\.yml$/, ""),
    parse(read("targets", name)) as readonly { readonly targets: readonly string[] }[],
  ]),
);

const namesIn = (text: string): readonly string[] => [
  ...new Set(
    [...text.replaceAll(/^\s*#.*$/gm, "").matchAll(/(?<!\$)\$\{([A-Z_]+)/g)].map(
      ([, name = ""]) => name,
    ),
  ),
];
/** The `NAME=value` lines of .env.example. */
const settings = new Map(
  [...example.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
);

test(".env.example has every variable that is used, and no other", () => {
  const used = new Set(composeFiles.flatMap((name) => namesIn(read(name))));
  expect([...settings.keys()].sort()).toEqual([...used].sort());
});

test(".env.example holds no password, and what it sets is what would be taken without it", () => {
  for (const [name, value] of settings) {
    if (/PASS|TOKEN/.test(name)) {
      expect([name, value]).toEqual([name, ""]);
      continue;
    }
    for (const [, fallback] of whole.matchAll(new RegExp(`\\$\\{${name}:?-([^}]*)\\}`, "g")))
      expect([name, value]).toEqual([name, fallback]);
  }
});

test("the line that fills all passwords in does so", async () => {
  const [, line = ""] = /^#\s+(for name in .*; done)$/m.exec(example) ?? [];
  const file = path.join(folder, ".env");
  await writeFile(file, example);
  const done = await runProcess("/bin/sh", ["-ec", line], { cwd: folder });
  expect(done).toMatchObject({ code: 0 });
  const filled = await readFile(file, "utf8");
  const required = namesIn(whole).filter((name) => whole.includes(`\${${name}:?`));
  expect(required).toHaveLength(6);
  const values = required.map(
    (name) => new RegExp(`^${name}=([0-9a-f]{48})$`, "m").exec(filled)?.[1],
  );
  expect(new Set(values).size).toBe(required.length);
  expect(values).not.toContain(undefined);
});

test("every job of prometheus.yml has its targets, and there are no others", () => {
  const file = readFileSync(path.join(repository, "deploy/prometheus/prometheus.yml"), "utf8");
  const { scrape_configs } = parse(file) as { scrape_configs: readonly { job_name: string }[] };
  expect(Object.keys(targets).sort()).toEqual(scrape_configs.map((one) => one.job_name).sort());
});

test("a target is a service of compose, at a port that the service is asked at elsewhere too", () => {
  const ports: Readonly<Record<string, string>> = {
    // The default ports of their images, which compose.yaml does not mention.
    "nginx-exporter": "9113",
  };
  const blocks = new Map(
    [...whole.matchAll(/^  ([a-z-]+):\n((?:(?: {4}.*)?\n)+)/gm)].map(([, name = "", text = ""]) => [
      name,
      text,
    ]),
  );
  for (const target of Object.values(targets).flatMap((groups) =>
    groups.flatMap((one) => one.targets),
  )) {
    const [host = "", port = ""] = target.split(":");
    expect(Object.keys(services)).toContain(host);
    if (ports[host] === undefined) expect(blocks.get(host), target).toContain(`:${port}`);
    else expect(port).toBe(ports[host]);
  }
});

test("the guide's table has every port, and each service's profile", () => {
  for (const [name, { ports = [], profiles }] of Object.entries(services)) {
    const row = guide.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));
    expect(row, name).toBeDefined();
    for (const port of ports) {
      const [, usual = ""] = /:-(\d+)\}/.exec(port) ?? [];
      expect(row, name).toContain(usual);
    }
    for (const profile of profiles) expect(row, name).toContain(profile);
  }
});

test.each([
  ["nginx", "deploy/demo-app/nginx/nginx.conf", /\$\{([A-Z_]+)\}/g],
  ["alertmanager-config", "deploy/alertmanager/alertmanager.yml", /\$\{?([A-Z][A-Z_]+)/g],
  ["grafana", "deploy/grafana/provisioning/datasources/gpulse.yml", /\$\{?([A-Z][A-Z_]+)/g],
])("%s is given every variable that %s asks for", (name, file, pattern) => {
  const asked = readFileSync(path.join(repository, file), "utf8").replaceAll(/^\s*#.*$/gm, "");
  const { environment = {}, command = [] } = services[name] ?? {};
  const names = [...asked.matchAll(pattern)].map(([, one = ""]) => one);
  expect(names.length).toBeGreaterThan(2);
  for (const one of names)
    expect(one in environment || command.join("\n").includes(`${one}="$$`), one).toBe(true);
});

test("the guide to Grafana gives it every variable of its data sources", () => {
  const grafana = readFileSync(path.join(repository, "docs/guides/grafana.md"), "utf8");
  const [, snippet = ""] = /```yaml\n(services:[\s\S]*?)```/.exec(grafana) ?? [];
  const { environment = {} } =
    (parse(snippet) as { services: Record<string, Service> }).services["grafana"] ?? {};
  const sources = path.join(repository, "deploy/grafana/provisioning/datasources/gpulse.yml");
  const asked = [...readFileSync(sources, "utf8").matchAll(/\$([A-Z_]+)/g)].map(([, name]) => name);
  expect(Object.keys(environment)).toEqual(expect.arrayContaining(asked));
});

test("images of ours carry the package's version", () => {
  const { version } = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8")) as {
    version: string;
  };
  const ours = [...whole.matchAll(/image: (gpulse[a-z-]*):(\S+)/g)];
  expect(ours.map(([, name]) => name)).toEqual(["gpulse", "gpulse-demo-app"]);
  for (const [, name, tag] of ours) expect([name, tag]).toEqual([name, version]);
});

test("the kernel's lines about GPUs go to the Loki that is there, from an agent that reads no GPU", () => {
  const { command = [], profiles } = services["kernel-log"] ?? {};
  expect(profiles).toEqual(services["loki"]?.profiles);
  expect(command).toContain("--source=none");
  const url = command.find((one) => one.startsWith("--kernel-log="))?.slice(13) ?? "";
  const { definition, options } = parseKernelLog(url);
  expect(definition.name).toBe("loki+http");
  const { server } = parse(read("loki", "loki.yaml")) as { server: { http_listen_port: number } };
  expect(options).toMatchObject({ url: `//loki:${server.http_listen_port}`, kmsg: "/dev/kmsg" });
});

test("the shipper of logs leaves the kernel's lines to that agent", () => {
  const config = read("alloy", "config.alloy").replaceAll(/^\s*\/\/.*$/gm, "");
  expect(config).not.toMatch(/journal|kernel|kmsg/);
  expect(config).toContain("loki.source.file");
});

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-compose-"));
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

const script = path.join(compose, "targets.mjs");

/** Runs targets.mjs once with these files. */
async function targetsOf(files: Readonly<Record<string, string>>) {
  const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
  for (const place of [from, to]) await mkdir(place);
  for (const [name, content] of Object.entries(files))
    await writeFile(path.join(from, name), content);
  const { code, stderr } = await runProcess(process.execPath, [script, from, to, "--once"]);
  const written = await Promise.all(
    (await readdir(to)).map(async (name) => [
      name,
      parse(await readFile(path.join(to, name), "utf8")) as unknown,
    ]),
  );
  return { code, stderr, written: Object.fromEntries(written) as Record<string, unknown> };
}

test("every target that is left out is named with the reason", async () => {
  const { code, stderr, written } = await targetsOf({
    "gpu.yml": "- targets: [localhost:9400, Node_7.invalid:9400, localhost]\n",
    "node.yml": "groups: []\n",
  });
  expect(code).toBe(0);
  expect(stderr.split("\n")).toEqual([
    expect.stringMatching(
      /^targets: gpu\.yml: Node_7\.invalid:9400: left out: the name does not resolve \(E\w+\)/,
    ),
    "targets: gpu.yml: localhost: left out: it is not HOST:PORT.",
    "targets: node.yml:1: left out: a list of targets or labels is expected here.",
    "",
  ]);
  expect(written).toEqual({ "gpu.yml": [{ targets: ["localhost:9400"] }], "node.yml": [] });
});

test("without a single target left it ends with 1 and says so", async () => {
  const { code, stderr } = await targetsOf({ "gpu.yml": "- targets: [agent.invalid:9400]\n" });
  expect(code).toBe(1);
  expect(stderr).toContain("no target is left");
});

test("lists and labels are kept as they are written, in either form", async () => {
  const { code, stderr, written } = await targetsOf({
    "gpu.yml": `# GPU nodes
- targets: ["LOCALHOST:9400", '127.0.0.1:9400']  # two
  labels: { rack: "r1", row: b }
- targets:
    - "[::1]:9400"
    - localhost:9401
  labels:
    rack: r2
`,
  });
  expect([code, stderr]).toEqual([0, ""]);
  expect(written["gpu.yml"]).toEqual([
    { targets: ["LOCALHOST:9400", "127.0.0.1:9400"], labels: { rack: "r1", row: "b" } },
    { targets: ["[::1]:9400", "localhost:9401"], labels: { rack: "r2" } },
  ]);
});

test("every target file that ships is understood", async () => {
  const { stderr } = await targetsOf(
    Object.fromEntries(
      Object.keys(targets).map((name) => [`${name}.yml`, read("targets", `${name}.yml`)]),
    ),
  );
  expect(stderr).not.toMatch(/expected here|HOST:PORT/);
});

test("the webhooks of alerts go to a service that the quick start has, at a path that it serves", () => {
  const quickStart = [...read("README.md").matchAll(/--profile (\w+)/g)].map(([, name]) => name);
  expect(quickStart).toEqual(["core", "prometheus"]);
  const routes = readFileSync(path.join(repository, "src/hub/events/routes.ts"), "utf8");
  for (const name of ["ALERT_WEBHOOK", "IDLE_WEBHOOK"]) {
    const [, host = "", port = "", at = ""] =
      /^([a-z-]+):(\d+)(\/.*)$/.exec(settings.get(name) ?? "") ?? [];
    expect(quickStart).toContain(services[host]?.profiles[0]);
    expect(services[host]?.ports?.join()).toMatch(new RegExp(`:${port}$`));
    expect(routes).toContain(`api.post("${at}"`);
  }
});

test("services that run become targets, and others do not", async () => {
  const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
  for (const place of [from, to]) await mkdir(place);
  await writeFile(path.join(from, "gpu.yml"), "- targets: [localhost:9400, agent.invalid:9400]\n");
  await writeFile(path.join(from, "redis.yml"), "# localhost:1\n- targets: [redis.invalid:9121]\n");
  const done = await runProcess(process.execPath, [script, from, to, "--once"]);
  expect(done).toMatchObject({ code: 0 });
  expect((await readdir(to)).sort()).toEqual(["gpu.yml", "redis.yml"]);
  const written = async (name: string): Promise<unknown> =>
    parse(await readFile(path.join(to, name), "utf8"));
  expect(await written("gpu.yml")).toEqual([{ targets: ["localhost:9400"] }]);
  expect(await written("redis.yml")).toEqual([]);

  // Without --once it keeps running until it is stopped.
  const running = startProcess(process.execPath, [script, from, to], { name: "targets" });
  await writeFile(path.join(from, "redis.yml"), "- targets: [localhost:9121]\n");
  await expect.poll(() => written("redis.yml")).toEqual([{ targets: ["localhost:9121"] }]);
  expect(await running.stop()).toEqual({ code: 0, signal: null });
});
