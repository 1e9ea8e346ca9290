// compose.yaml through compose's own loader, and the rules for every service in it.

import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import {
  composeCheck,
  composeFolder,
  type ComposeProject,
  type ComposeService,
  resolveCompose,
  resolveComposeText,
} from "../../engines/compose.ts";
import { orSkip } from "../../engines/cache.ts";
import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";

const PROFILES = ["core", "prometheus", "app", "streaming", "logs", "tracing"];
const example = readFileSync(path.join(composeFolder, ".env.example"), "utf8");
const SECRETS = [...example.matchAll(/^([A-Z_]*(?:PASS|PASSWORD|INFLUXDB_TOKEN))=/gm)].map(
  ([, name = ""]) => name,
);
const passwordOf = (name: string): string => `pa$$ "word" of ${name}`.replaceAll(" ", "-");
/** .env as a user fills it in; single quotes prevent the interpolation of $. */
const filled = SECRETS.reduce(
  (text, name) => text.replace(`\n${name}=\n`, () => `\n${name}='${passwordOf(name)}'\n`),
  example,
);

/** Services that may have a capability, run as root or see the host's processes; compose.yaml explains each. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  cadvisor: ["DAC_READ_SEARCH"],
  "kernel-log": ["SYSLOG"],
};
const DEVICES: Readonly<Record<string, readonly unknown[]>> = {
  "kernel-log": [{ source: "/dev/kmsg", target: "/dev/kmsg", permissions: "r" }],
};
const HOST_PROCESSES = ["node-exporter"];
const NETWORKS: Readonly<Record<string, readonly string[]>> = {
  "spark-master": ["edge"],
  "spark-worker": ["edge"],
  datanode: ["edge", "inside"],
};
/** Its image contains only the program. */
const WITHOUT_CHECK = ["nginx-exporter"];
/** Host paths that may be mounted, all of them read-only. */
const HOST_PATHS = /^\/(sys|var\/run\/docker\.sock|var\/lib\/docker(\/containers)?)?$/;

let project: ComposeProject;
let services: readonly (readonly [string, ComposeService])[];

beforeAll(async () => {
  await composeCheck().catch(() => undefined);
});
beforeEach(async (context) => {
  await orSkip(context, composeCheck());
  project ??= await resolveCompose({ env: filled });
  services = Object.entries(project.services);
});

test("compose takes the file whole, with every profile, and each profile by itself", async () => {
  expect(project.name).toBe("gpulse");
  expect(new Set(services.flatMap(([, one]) => one.profiles ?? []))).toEqual(new Set(PROFILES));
  for (const profile of PROFILES) {
    const alone = await resolveCompose({ env: filled, profiles: [profile] });
    expect(Object.keys(alone.services), profile).not.toEqual([]);
  }
});

test("every service has a profile, a restart policy, a memory limit and a pinned image", () => {
  for (const [name, one] of services) {
    expect(one.profiles, name).not.toEqual([]);
    expect(one.restart, name).toBe("unless-stopped");
    expect(Number(one.mem_limit), name).toBeGreaterThan(0);
    expect(one.image, name).toMatch(/^[a-z0-9./_-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?$/);
  }
});

test("every service has a health check that it can run, or a reason", () => {
  const without = services.filter(([, one]) => one.healthcheck?.disable === true);
  expect(without.map(([name]) => name)).toEqual(WITHOUT_CHECK);
  for (const [name, one] of services)
    if (!WITHOUT_CHECK.includes(name))
      expect(one.healthcheck?.test?.[0], name).toMatch(/^CMD(-SHELL)?$/);
});

test("every published port is bound to 127.0.0.1, and none twice", () => {
  const ports = services.flatMap(([, one]) => one.ports ?? []);
  expect(ports.length).toBeGreaterThan(10);
  for (const port of ports)
    expect(port, String(port.target)).toHaveProperty("host_ip", "127.0.0.1");
  const published = ports.map((port) => port.published);
  expect(new Set(published).size).toBe(published.length);
});

test("a service that publishes nothing reaches nothing outside, unless a reason is given", () => {
  expect(project.networks?.["inside"]?.internal).toBe(true);
  for (const [name, one] of services) {
    expect(one.network_mode, name).toBeUndefined();
    const usual = (one.ports ?? []).length > 0 ? ["edge", "inside"] : ["inside"];
    const networks = new Set(Object.keys(one.networks ?? {}));
    expect(networks, name).toEqual(new Set(NETWORKS[name] ?? usual));
  }
});

test("nothing is privileged, and a capability or the machine's processes only where a reason is given", () => {
  for (const [name, one] of services) {
    expect(one.privileged ?? false, name).toBe(false);
    expect(one.cap_drop, name).toEqual(["ALL"]);
    expect(one.cap_add ?? [], name).toEqual(CAPABILITIES[name] ?? []);
    expect(one.security_opt, name).toEqual(["no-new-privileges:true"]);
    expect(one.pid === "host", name).toBe(HOST_PROCESSES.includes(name));
    expect(one.devices ?? [], name).toEqual(DEVICES[name] ?? []);
  }
});

test("a root file system is read-only unless a secret or the image's own start writes there", () => {
  const open = services.filter(
    ([, one]) => one.read_only !== true && (one.secrets ?? []).length === 0,
  );
  // Kafka writes its configuration from the environment at startup.
  expect(open.map(([name]) => name)).toEqual(["kafka"]);
  // Compose copies secrets into a container, which fails with a read-only root filesystem.
  for (const [name, one] of services)
    if ((one.secrets ?? []).length > 0) expect(one.read_only ?? false, name).toBe(false);
});

test("what a service waits for is in each of its profiles", () => {
  for (const [name, one] of services)
    for (const needed of Object.keys(one.depends_on ?? {}))
      expect(project.services[needed]?.profiles, `${name} needs ${needed}`).toEqual(
        expect.arrayContaining([...(one.profiles ?? [])]),
      );
});

test("what is mounted from the repository is there, and read-only; of the machine only what is listed", () => {
  for (const [name, one] of services)
    for (const { type, source, target, read_only } of one.volumes ?? []) {
      if (type === "volume") {
        expect(Object.keys(project.volumes ?? {}), name).toContain(source);
        continue;
      }
      expect(read_only, `${name} ${target}`).toBe(true);
      if (source.startsWith(repository)) expect(existsSync(source), `${name} ${source}`).toBe(true);
      else expect(source, name).toMatch(HOST_PATHS);
    }
});

test("no password is anywhere in what compose resolves", async () => {
  expect(SECRETS).toHaveLength(6);
  const variables = Object.values(project.secrets ?? {}).map((one) => one.environment);
  expect(new Set(variables)).toEqual(new Set(SECRETS));
  const text = await resolveComposeText({ env: filled });
  for (const name of SECRETS) {
    expect(filled).toContain(passwordOf(name));
    expect(text).not.toContain(JSON.stringify(passwordOf(name)).slice(1, -1));
    expect(text).not.toContain(`of-${name}`);
  }
});

test("without a password, or with an empty one, compose refuses and names each", async () => {
  const empty = resolveComposeText({ env: example, profiles: ["core"] });
  for (const name of SECRETS)
    await expect(empty).rejects.toThrow(`${name} is missing a value: set ${name} in .env`);
  await expect(resolveComposeText({ env: "" })).rejects.toThrow("set GRAFANA_PASSWORD in .env");
});

test("a mistake in a file is reported as compose reports it", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-compose-"));
  try {
    const wrong = path.join(folder, "wrong.yaml");
    await writeFile(wrong, "services:\n  hub:\n    memlimit: 1g\n");
    const resolved = resolveComposeText({
      env: filled,
      overrides: [path.relative(composeFolder, wrong)],
    });
    await expect(resolved).rejects.toThrow("memlimit");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test.each([
  ["nvidia", { cap_add: undefined, pid: undefined, user: undefined }],
  ["amd", { cap_add: undefined, pid: undefined, user: undefined }],
  ["intel", { cap_add: ["SYS_PTRACE", "DAC_READ_SEARCH"], pid: "host", user: "0:0" }],
])("for %s the agent gets what the vendor needs and no more", async (vendor, access) => {
  const overrides = [`compose.${vendor}.yaml`];
  const { agent } = (await resolveCompose({ env: filled, profiles: ["core"], overrides })).services;
  const { cap_add, pid, user } = agent ?? {};
  expect({ cap_add, pid, user }).toEqual(access);
  expect(agent).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
  expect(agent?.privileged ?? false).toBe(false);
  expect(agent?.devices ?? []).toEqual([]);
  const reserved = JSON.stringify(agent?.deploy?.resources ?? {});
  expect(reserved.includes('"capabilities":["gpu","utility"]')).toBe(vendor === "nvidia");
  if (vendor !== "nvidia") expect(agent?.command).toContain("--sysfs=/host/sys");
});

test("data folders, memory and cores of .env arrive where they belong", async () => {
  const env = filled
    .replace("HUB_DATA=hub-data", "HUB_DATA=/srv/gpulse/hub")
    .replace("SPARK_WORKER_CORES=2", "SPARK_WORKER_CORES=7")
    .replace("SPARK_WORKER_LIMIT=3g", "SPARK_WORKER_LIMIT=9g");
  const resolved = (await resolveCompose({ env })).services;
  expect(resolved["hub"]?.volumes).toContainEqual(
    expect.objectContaining({ type: "bind", source: "/srv/gpulse/hub", target: "/data" }),
  );
  expect(resolved["spark-worker"]?.command?.join(" ")).toContain("--cores 7 --memory 2g");
  expect(resolved["spark-worker"]?.mem_limit).toBe(String(9 * 1024 ** 3));
});

// Runs a service's shell command like compose, with the container's paths moved into a folder of the test.
let room = "";
beforeAll(async () => {
  room = await mkdtemp(path.join(tmpdir(), "gpulse-compose-"));
});
afterAll(async () => rm(room, { recursive: true, force: true }));

async function startLines(name: string, places: Readonly<Record<string, string>>) {
  const one = project.services[name];
  const secrets = path.join(room, name, "secrets");
  await mkdir(secrets, { recursive: true });
  for (const { source } of one?.secrets ?? []) {
    const variable = project.secrets?.[source]?.environment ?? "";
    await writeFile(path.join(secrets, source), passwordOf(variable), { mode: 0o444 });
  }
  let script = one?.command?.join("\n") ?? "";
  for (const [from, to] of Object.entries({ "/run/secrets": secrets, ...places }))
    script = script.replaceAll(from, () => to);
  const env = Object.fromEntries(
    Object.entries(one?.environment ?? {}).map(([key, value]) => [key, value ?? ""]),
  );
  return runProcess("/bin/sh", ["-euc", script], { env });
}

test("Alertmanager's file is rendered with the password, for its owner alone, and nothing is printed", async () => {
  const out = path.join(room, "rendered");
  await mkdir(out);
  const done = await startLines("alertmanager-config", {
    "/render.mjs": path.join(repository, "deploy/alertmanager/render.mjs"),
    " /alertmanager.yml": ` ${path.join(repository, "deploy/alertmanager/alertmanager.yml")}`,
    "/rendered/": `${out}/`,
    "exec sleep infinity": "exec true",
  });
  expect(done).toMatchObject({ code: 0, stdout: "", stderr: "" });
  expect(await readdir(out)).toEqual(["alertmanager.yml"]);
  const file = path.join(out, "alertmanager.yml");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, "utf8")).toContain(JSON.stringify(passwordOf("EMAIL_PASS")));
});

test("Redis gets its password by a file that only it can read, not by its arguments", async () => {
  const bin = path.join(room, "bin");
  await mkdir(bin);
  const server = path.join(bin, "redis-server");
  await writeFile(server, '#!/bin/sh\necho "$@"\n');
  await chmod(server, 0o755);
  const conf = path.join(room, "redis.conf");
  const done = await startLines("redis", { "/run/redis/redis.conf": conf, "redis-server": server });
  expect(done.code).toBe(0);
  expect(done.stdout).toContain("--appendonly yes");
  expect(done.stdout).not.toContain("of-REDIS_PASSWORD");
  expect((await stat(conf)).mode & 0o777).toBe(0o600);
  expect(await readFile(conf, "utf8")).toBe(
    `requirepass ${JSON.stringify(passwordOf("REDIS_PASSWORD"))}\n`,
  );
});
