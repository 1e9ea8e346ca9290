// Tests the Dockerfile without a container engine: performs its COPY steps into an empty folder, from the existing build and
// packages, and starts the result as its user.

import { existsSync, readFileSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, repository } from "../../engines/program.ts";

interface Step {
  readonly stage: string;
  readonly word: string;
  readonly rest: string;
}

const text = readFileSync(path.join(repository, "Dockerfile"), "utf8");
const ignore = readFileSync(path.join(repository, ".dockerignore"), "utf8");
const manifest = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8")) as {
  version: string;
  optionalDependencies: Record<string, string>;
};

function steps(): readonly Step[] {
  let stage = "";
  const lines = text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  return lines
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, word = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      if (word === "FROM") stage = /\sAS\s+(\S+)$/.exec(rest)?.[1] ?? "";
      return { stage, word, rest };
    });
}
const all = steps();
const of = (stage: string, word: string): readonly string[] =>
  all.filter((step) => step.stage === stage && step.word === word).map((step) => step.rest);

/** The path of a file that the build stage provides for later stages. */
const outside = (from: string, demoApp: string): string =>
  from.startsWith("/out/demo-app") ? demoApp : path.join(repository, from.replace(/^\/src\//, ""));

/** Copies a stage's files like Docker: a folder's contents into the target, a file under its name. */
async function copyStage(stage: string, to: string, demoApp: string): Promise<void> {
  for (const line of of(stage, "COPY")) {
    const words = line.split(/\s+/);
    const built = words[0]?.startsWith("--from=") === true;
    const places = built ? words.slice(1) : words;
    const target = path.join(to, places.at(-1) ?? "");
    for (const from of places.slice(0, -1)) {
      const source = built ? outside(from, demoApp) : path.join(repository, from);
      const isFile = (places.at(-1) ?? "").endsWith("./") && path.extname(from) !== "";
      const named = isFile || from === "LICENSE" ? path.join(target, path.basename(from)) : target;
      await cp(source, named, { recursive: true, filter: (one) => !one.endsWith(".map") });
    }
  }
}

let folder = "";
let [gpulse, demoApp] = ["", ""];
/** Runs as the image's user if allowed: root reads everything, and would miss a file that others cannot read. */
let become: readonly string[] = [];
const asUser = (command: readonly string[]): readonly string[] => [...become, ...command];

async function findUser(): Promise<readonly string[]> {
  const prefix = ["setpriv", "--reuid=10001", "--regid=10001", "--clear-groups"];
  // Node may be installed where only its owner has access.
  const tried = await runProcess("setpriv", [
    ...prefix.slice(1),
    process.execPath,
    "--version",
  ]).catch(() => undefined);
  return tried?.code === 0 ? prefix : [];
}

beforeAll(async () => {
  await ensureBuild();
  become = await findUser();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-image-"));
  await chmod(folder, 0o755);
  const [out, app] = [path.join(folder, "out"), path.join(folder, "demo-app")];
  const bundle = of("build", "RUN").find((line) => line.startsWith("npx esbuild"));
  const made = await runProcess(
    "/bin/sh",
    [
      "-ec",
      (bundle ?? "false")
        .replace("npx esbuild", "node_modules/.bin/esbuild")
        .replaceAll("/out/demo-app", out),
    ],
    { cwd: repository },
  );
  if (made.code !== 0) throw new Error(made.stderr);
  gpulse = path.join(folder, "gpulse");
  demoApp = app;
  for (const place of [gpulse, demoApp]) await mkdir(place);
  await copyStage("gpulse", gpulse, out);
  await copyStage("demo-app", demoApp, out);
}, 120_000);
afterAll(async () => rm(folder, { recursive: true, force: true }));

test("every file that is copied is one that .dockerignore lets in", () => {
  const kept = ignore
    .split("\n")
    .filter((line) => line.startsWith("!"))
    .map((line) => line.slice(1));
  const asked = ["build", "demo-app", "gpulse"]
    .flatMap((stage) => of(stage, "COPY"))
    .filter((line) => !line.startsWith("--from=") && line !== ". .")
    .flatMap((line) => line.split(/\s+/).slice(0, -1));
  expect(asked.length).toBeGreaterThan(6);
  for (const file of asked) {
    expect(existsSync(path.join(repository, file)), file).toBe(true);
    expect(
      kept.some((one) => file === one || file.startsWith(`${one}/`)),
      file,
    ).toBe(true);
  }
  for (const file of kept) expect(existsSync(path.join(repository, file)), file).toBe(true);
});

test("what the build reads is let in, and no .env, no data and no history of the repository", () => {
  const fingerprint = readFileSync(path.join(repository, "scripts/fingerprint.mjs"), "utf8");
  const [, list = ""] = /const SOURCES = \[([^\]]*)\]/.exec(fingerprint) ?? [];
  const sources = [...list.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);
  expect(sources).toContain("docs/runbook");
  const lines = ignore.split("\n");
  for (const name of sources)
    expect(
      lines.some((one) => one === `!${name}` || (one !== "" && `!${name}`.startsWith(`${one}/`))),
      name,
    ).toBe(true);
  expect(lines.filter((line) => !line.startsWith("#"))[0]).toBe("*");
  expect(lines).toContain("**/.env");
});

test("exactly the native parts that the bundles leave out are copied, with what these need", () => {
  const { packages } = JSON.parse(
    readFileSync(path.join(repository, "package-lock.json"), "utf8"),
  ) as {
    packages: Record<
      string,
      { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> }
    >;
  };
  const needed = new Set<string>();
  const add = (name: string): void => {
    if (needed.has(name)) return;
    needed.add(name);
    const found = packages[`node_modules/${name}`];
    for (const more of Object.keys({ ...found?.dependencies, ...found?.optionalDependencies }))
      add(more);
  };
  for (const name of Object.keys(manifest.optionalDependencies)) add(name);
  const copied = of("gpulse", "COPY").flatMap(
    (line) => /\/node_modules\/(\S+) /.exec(line)?.[1] ?? [],
  );
  const covered = (name: string): string =>
    copied.includes(name) ? name : (name.split("/")[0] ?? "");
  expect([...new Set([...needed].map(covered))].sort()).toEqual([...copied].sort());
});

test("both images run as a user that is not root, end on SIGTERM, and carry this version", () => {
  for (const stage of ["gpulse", "demo-app"]) {
    expect(of(stage, "USER")).toEqual(["10001:10001"]);
    expect(of(stage, "LABEL").join(" ")).toContain(`image.version="${manifest.version}"`);
    expect(of(stage, "ENTRYPOINT")).toHaveLength(1);
  }
  expect(of("runtime", "STOPSIGNAL")).toEqual(["SIGTERM"]);
  expect(of("gpulse", "HEALTHCHECK")).toHaveLength(1);
  expect(text).not.toMatch(/password|secret|token/i);
});

test("the images have the Node of the single-file programs, an LTS that is supported", () => {
  const parts = readFileSync(path.join(repository, "scripts/single-file/parts.mjs"), "utf8");
  const [, version = ""] = /^const NODE = "([\d.]+)";$/m.exec(parts) ?? [];
  expect(text).toContain(`\nARG NODE_IMAGE=node:${version}-bookworm-slim\n`);
  // Node 20 ended in April 2026 and 22 ends in April 2027; odd versions are not LTS.
  const major = Number(version.split(".")[0]);
  expect(major).toBeGreaterThanOrEqual(24);
  expect(major % 2).toBe(0);
});

test("the folder that comes out runs gpulse as the image starts it", async () => {
  const [program = "", ...args] = asUser([
    process.execPath,
    path.join(gpulse, "bin/gpulse"),
    "--version",
  ]);
  const done = await runProcess(program, args, { cwd: "/" });
  expect(done.stdout).toContain(manifest.version);
  expect(done.code).toBe(0);
});

test("an agent out of it serves GPUs, its health check agrees, and it ends on SIGTERM", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = [process.execPath, path.join(gpulse, "bin/gpulse"), "agent", "--source=sim:2"];
  const [program = "", ...args] = asUser([...start, "--host=127.0.0.1", `--port=${port}`]);
  const check = async (): Promise<number | null> =>
    (await runProcess(process.execPath, [path.join(gpulse, "healthy.mjs"), `${url}/healthz`])).code;
  expect(await check()).toBe(1);
  const agent = startProcess(program, args, { name: "agent of the image", cwd: "/" });
  try {
    await agent.waitForUrl(`${url}/readyz`, 60_000);
    expect(await check()).toBe(0);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("gpu_power_watts{");
  } finally {
    expect(await agent.stop(30_000)).toEqual({ code: 0, signal: null });
  }
});

test.for([
  [["node", "/opt/gpulse/bin/gpulse", "agent"], {}, "9400/healthz"],
  [["node", "/opt/gpulse/bin/gpulse", "agent"], { EXPORTER_PORT: "9555" }, "9555/healthz"],
  [["node", "/x/gpulse", "agent", "--port=9556"], { EXPORTER_PORT: "9555" }, "9556/healthz"],
  [["/sbin/docker-init", "--", "node", "/x/gpulse", "agent", "--port", "9557"], {}, "9557/healthz"],
  [["node", "/x/gpulse", "hub"], { EXPORTER_PORT: "9555" }, "9410/-/healthy"],
  [["node", "/x/gpulse", "--log-level=warn", "hub", "--port=80"], {}, "80/-/healthy"],
  [["node", "/x/gpulse", "up", "--port=81"], {}, "81/-/healthy"],
] as const)("%j with %j is asked at %s", async ([commandLine, env, wanted]) => {
  const file = JSON.stringify(path.join(gpulse, "healthy.mjs"));
  const given = [commandLine, env].map((one) => JSON.stringify(one)).join();
  const script = `const { healthAddress } = await import(${file}); console.log(healthAddress(${given}));`;
  const done = await runProcess(process.execPath, ["--input-type=module", "-e", script]);
  expect(done.stdout.trim()).toBe(`http://127.0.0.1:${wanted}`);
});

test("the health check of the image follows the agent's port", async () => {
  const port = String(await freePort());
  const [, file = ""] =
    /"node", "\/opt\/gpulse\/([^"]+)"\]/.exec(of("gpulse", "HEALTHCHECK")[0] ?? "") ?? [];
  const env = { EXPORTER_PORT: port };
  const check = async (): Promise<number | null> =>
    (await runProcess(process.execPath, [path.join(gpulse, file)], { env })).code;
  expect(await check()).toBe(1);
  const start = [path.join(gpulse, "bin/gpulse"), "agent", "--source=sim:1", "--host=127.0.0.1"];
  const agent = startProcess(process.execPath, start, {
    name: "agent of the image",
    env,
    cwd: "/",
  });
  try {
    await agent.waitForUrl(`http://127.0.0.1:${port}/readyz`, 60_000);
    expect(await check()).toBe(0);
  } finally {
    await agent.stop(30_000);
  }
});

test("the native parts load from it", async () => {
  const script = `const { createRequire } = require("node:module"); const load = createRequire(process.argv[1]); load("koffi"); load("@duckdb/node-api"); console.log("loaded");`;
  const done = await runProcess(process.execPath, ["-e", script, path.join(gpulse, "bin/gpulse")]);
  expect(done.stdout.trim()).toBe("loaded");
});

test("the demo application starts from its own, with addresses made from secrets and not printed", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const secrets = path.join(folder, "secrets");
  await mkdir(secrets);
  for (const name of ["redis_password", "postgres_password"])
    await writeFile(path.join(secrets, name), `p@ss:${name}/%\n`);
  const env = { PORT: String(port), HOST: "127.0.0.1", SECRETS_FOLDER: secrets };
  const [program = "", ...args] = asUser([
    process.execPath,
    path.join(demoApp, "demo-app.mjs"),
    "ml",
  ]);
  const ml = startProcess(program, args, { name: "ml of the image", env, cwd: "/" });
  try {
    await ml.waitForUrl(`${url}/healthz`, 60_000);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("ml_info{");
    expect(ml.output()).not.toContain("p@ss");
    expect(ml.output()).not.toContain("p%40ss");
  } finally {
    await ml.stop(30_000);
  }
  const unknown = await runProcess(process.execPath, [path.join(demoApp, "demo-app.mjs"), "web"]);
  expect(unknown.stderr).toContain("gateway, worker, ml or load");
  expect(unknown.code).toBe(2);
});
