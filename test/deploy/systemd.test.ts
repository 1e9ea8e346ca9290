// Validates the units with systemd's tools, and runs the programs like the units do: same command line, same environment, a user
// without any privileges. The sandbox itself needs systemd as the first process, which tests do not have.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, repository } from "../../engines/program.ts";
import {
  commandOf,
  dropIns,
  environmentOf,
  parseEnvironment,
  parseUnit,
  readUnit,
  systemdFolder,
  systemUnits,
  userUnits,
} from "./systemd/unit.ts";

const NOBODY = "65534";
const installed = /(?:\/usr\/local|%h\/\.local)\/bin\/gpulse/g;
let folder: string;
let program: string;

beforeAll(async () => {
  await ensureBuild();
  // As installed by npm: without sources, so that nothing is built at start.
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-systemd-"));
  chmodSync(folder, 0o755);
  const home = path.join(folder, "gpulse");
  for (const part of ["bin", "package.json", "dist/agent", "dist/gpulse", "dist/web"])
    cpSync(path.join(repository, part), path.join(home, part), {
      recursive: true,
      filter: (file) => !file.endsWith(".map"),
    });
  program = path.join(home, "bin", "gpulse");
}, 360_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.for([...systemUnits, ...userUnits])(
  "systemd finds nothing to say of %s",
  async (file, context) => {
    if (spawnSync("systemd-analyze", ["--version"]).status !== 0)
      context.skip("needs systemd-analyze: install systemd");
    const home = mkdtempSync(path.join(folder, "units-"));
    const copy = (from: string, to: string): void => {
      const text = readFileSync(path.join(systemdFolder, from), "utf8");
      mkdirSync(path.dirname(path.join(home, to)), { recursive: true });
      writeFileSync(path.join(home, to), text.replaceAll(installed, program));
    };
    const name = path.basename(file);
    copy(file, name);
    const user = file.startsWith("user/");
    if (!user && name !== "gpulse-hub.service")
      for (const dropIn of dropIns) copy(`drop-in/${dropIn}`, `${name}.d/${dropIn}`);
    const manager = user ? ["--user"] : [];
    const args = [...manager, "verify", "--man=no", path.join(home, name)];
    const env = { XDG_RUNTIME_DIR: home, SYSTEMD_LOG_LEVEL: "notice" };
    const { code, stdout, stderr } = await runProcess("systemd-analyze", args, { env });
    expect({ code, said: stdout + stderr }).toEqual({ code: 0, said: "" });
    // A deliberate mistake is reported, so the check works.
    writeFileSync(path.join(home, name), "[Service]\nExecStart=/bin/true\nProtectSytem=strict\n");
    expect((await runProcess("systemd-analyze", args, { env })).stderr).toContain("ProtectSytem");
  },
);

test.for(systemUnits)(
  "%s is exposed to little, by systemd's own measure",
  async (file, context) => {
    if (spawnSync("systemd-analyze", ["security", "--offline=yes", "--help"]).status !== 0)
      context.skip("needs systemd-analyze of systemd 250 or newer");
    // From 0 to 100, less is better; an ordinary service has 96.
    const args = ["security", "--no-pager", "--offline=yes", "--threshold=25"];
    const done = await runProcess("systemd-analyze", [...args, path.join(systemdFolder, file)]);
    expect(done.code, done.stdout).toBe(0);
  },
);

const guide = readFileSync(path.join(repository, "docs/guides/systemd.md"), "utf8");
const exposures = [
  ...guide.matchAll(/^\| `([\w-]+\.service)`(?: with `([\w-]+\.conf)`)? \| (\d+\.\d) \|$/gm),
].map(([, unit = "", dropIn = "", exposure]) => [unit, dropIn, Number(exposure)] as const);

test("the guide has the exposure of every system unit", () => {
  expect(new Set(exposures.map(([unit]) => unit))).toEqual(new Set(systemUnits));
});

test.for(exposures)(
  "the exposure of %s %s in the guide is %f, as systemd-analyze prints it",
  async ([unit, dropIn, exposure], context) => {
    if (spawnSync("systemd-analyze", ["security", "--offline=yes", "--help"]).status !== 0)
      context.skip("needs systemd-analyze of systemd 250 or newer");
    const copy = mkdtempSync(path.join(folder, "exposure-"));
    copyFileSync(path.join(systemdFolder, unit), path.join(copy, unit));
    if (dropIn !== "") {
      mkdirSync(path.join(copy, `${unit}.d`));
      copyFileSync(
        path.join(systemdFolder, "drop-in", dropIn),
        path.join(copy, `${unit}.d`, dropIn),
      );
    }
    const args = ["security", "--no-pager", "--offline=true", path.join(copy, unit)];
    const { stdout } = await runProcess("systemd-analyze", args);
    const printed = Number(/exposure level for \S+: (\d+\.\d)/.exec(stdout)?.[1]);
    // Other versions of systemd weigh some settings differently.
    const is252 = spawnSync("systemd-analyze", ["--version"])
      .stdout.toString()
      .startsWith("systemd 252");
    expect(Math.abs(printed - exposure)).toBeLessThanOrEqual(is252 ? 0.01 : 0.5);
  },
);

const sandbox = {
  DynamicUser: ["yes"],
  NoNewPrivileges: ["yes"],
  ProtectSystem: ["strict"],
  ProtectHome: ["yes"],
  PrivateDevices: ["yes"],
  CapabilityBoundingSet: [""],
  RestrictAddressFamilies: ["AF_INET AF_INET6 AF_UNIX AF_NETLINK"],
  RestrictNamespaces: ["yes"],
  SystemCallArchitectures: ["native"],
  Restart: ["on-failure"],
};

test.for(systemUnits)("%s is shut in and has an end to its memory", (file) => {
  const { Service: service } = readUnit(file);
  expect(service).toMatchObject(sandbox);
  expect(service?.["MemoryMax"]?.[0]).toMatch(/^\d+[MG]$/);
  // Node compiles at run time, and would not start with this setting.
  expect(service).not.toHaveProperty("MemoryDenyWriteExecute");
});

test("a drop-in opens what its vendor needs and no more", () => {
  const keys = (name: string) => Object.keys(readUnit(`drop-in/${name}`)["Service"] ?? {});
  expect(Object.fromEntries(dropIns.map((name) => [name, keys(name)]))).toEqual({
    "nvidia.conf": ["PrivateDevices", "DevicePolicy", "DeviceAllow", "SupplementaryGroups"],
    "amd.conf": ["CapabilityBoundingSet", "AmbientCapabilities"],
    "intel.conf": ["CapabilityBoundingSet", "AmbientCapabilities"],
    "push.conf": ["LoadCredential", "ExecStart"],
  });
  expect(readUnit("drop-in/nvidia.conf")["Service"]).toMatchObject({
    DevicePolicy: ["closed"],
    DeviceAllow: ["char-nvidia* rw"],
  });
});

test("a line that means nothing is found", () => {
  expect(() => parseUnit("[Service]\nNoNewPrivileges yes\n")).toThrow("line 2");
});

test("the agent's settings file holds the variables that exporters share", () => {
  const text = readFileSync(path.join(systemdFolder, "agent.env"), "utf8");
  expect(parseEnvironment(text)).toEqual({
    EXPORTER_PORT: "9400",
    COLLECTION_INTERVAL: "1",
    LOG_LEVEL: "info",
    METRICS_PATH: "/metrics",
    GPULSE_FLAGS: "",
  });
});

/** The command prefix that removes all privileges: no groups, no capabilities, none obtainable. */
function asNobody(context: { skip(note: string): never }): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const drop = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const words = [...drop, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"];
  const [first = "", ...rest] = words;
  const tried = spawnSync(first, [...rest, process.execPath, "--version"]);
  if (tried.status !== 0) context.skip("needs setpriv, and a Node that every user may run");
  return words;
}

test.for([
  ["gpulse-agent.service", "/readyz", "/custom", /^gpu_up\{/m],
  ["gpulse-hub.service", "/-/ready", "/metrics", /^gpulse_/m],
  ["gpulse.service", "/-/ready", "/metrics", /^gpu_up\{/m],
  ["user/gpulse-agent.service", "/readyz", "/custom", /^gpu_up\{/m],
  ["user/gpulse.service", "/-/ready", "/metrics", /^gpu_up\{/m],
] as const)(
  "%s starts gpulse as a user without rights, and ends it in time",
  { timeout: 180_000 },
  async ([file, ready, metrics, holds], context) => {
    const words = asNobody(context);
    const unit = readUnit(file);
    const isAgent = file.includes("agent");
    const own = readFileSync(path.join(systemdFolder, isAgent ? "agent.env" : "hub.env"), "utf8");
    const port = await freePort();
    const sources = file === "gpulse-hub.service" ? "" : "--source sim:2";
    // An administrator's changes to the file.
    const edited = isAgent
      ? {
          EXPORTER_PORT: String(port),
          METRICS_PATH: "/custom",
          GPULSE_FLAGS: `${sources} --host 127.0.0.1`,
        }
      : { GPULSE_FLAGS: `${sources} --port ${port}` };
    const state = mkdtempSync(path.join(folder, "state-"));
    chmodSync(state, 0o777);
    const env: Record<string, string> = {
      PATH: `${path.dirname(process.execPath)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin`,
      HOME: state,
      ...environmentOf(unit),
      ...parseEnvironment(own),
      ...edited,
      STATE_DIRECTORY: state,
    };
    if ("GPULSE_DATA" in env) env["GPULSE_DATA"] = path.join(state, "data");
    const command = commandOf(unit, env).map((word) => word.replace(installed, program));
    const pairs = Object.entries(env).map(([key, value]) => `${key}=${value}`);
    const args = ["-i", ...pairs, ...words, ...command];
    const running = startProcess("env", args, { name: file, cwd: state });
    try {
      await running.waitForUrl(`http://127.0.0.1:${port}${ready}`, 90_000);
      await expect
        .poll(async () => (await fetch(`http://127.0.0.1:${port}${metrics}`)).text(), {
          timeout: 60_000,
        })
        .toMatch(holds);
      if (words.length > 0) {
        const status = readFileSync(`/proc/${running.pid}/status`, "utf8");
        expect(status).toMatch(/^Uid:\t65534\t65534/m);
        expect(status).toMatch(/^CapBnd:\t0+$/m);
      }
    } catch (thrown) {
      throw new Error(`${String(thrown)}\nit printed:\n${running.output()}`, { cause: thrown });
    } finally {
      const seconds = Number(unit["Service"]?.["TimeoutStopSec"]?.[0]);
      // It exits by itself with 0: a kill after the stop timeout would be reported as a signal.
      expect(await running.stop(seconds * 1_000)).toEqual({ code: 0, signal: null });
    }
  },
);
