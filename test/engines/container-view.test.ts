// `gpulse run` in a mount namespace that hides parts of /sys and /proc, like container runtimes do, compared with one
// without.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, expect, test } from "vitest";

import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { runProcess } from "../../engines/process.ts";
import { readRunFile } from "../../src/runs/file/file.ts";

const program = fileURLToPath(new URL("../../bin/gpulse", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-view-"));
beforeAll(ensureBuild, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A runtime masks folders by mounting an empty one over them. */
const masked = `set -eu
for hidden in /sys/devices/system/node /sys/fs/cgroup; do mount -t tmpfs -o ro tmpfs "$hidden"; done
exec "$@"`;

const args = (label: string) => [
  "run",
  "--source=sim:2?seed=5",
  "--baseline=0",
  `--label=${label}`,
  `--out=${path.join(folder, `${label}.gpulserun`)}`,
  "--",
  "sleep",
  "0.5",
];

test("what a mount namespace hides is named in the run, and in a comparison with one that sees it", async (context) => {
  const tried = await runProcess("unshare", ["--mount", "true"]).catch(() => null);
  if (tried?.code !== 0) return context.skip("needs unshare and the right to mount");
  const open = await runGpulse(args("outside"));
  expect(open.code).toBe(0);
  expect(open.stderr).toMatch(/seen: .*NUMA nodes \(\d+ nodes?\)/);
  const hidden = await runProcess("unshare", [
    "--mount",
    "--propagation",
    "private",
    "sh",
    "-c",
    masked,
    "sh",
    process.execPath,
    program,
    ...args("inside"),
  ]);
  expect(hidden.code).toBe(0);
  expect(hidden.stderr).toContain(
    "NOT seen: NUMA nodes (a tmpfs is mounted over /sys/devices/system/node)",
  );
  expect(hidden.stderr).toContain(
    "NOT seen: cgroup limits (a tmpfs is mounted over /sys/fs/cgroup)",
  );
  const files = ["outside", "inside"].map((label) => path.join(folder, `${label}.gpulserun`));
  const { run } = await readRunFile(files[1] ?? "");
  const stateOf = (part: string) => run.visible.parts?.find((one) => one.part === part)?.state;
  expect([stateOf("NUMA nodes"), stateOf("cgroup limits")]).toEqual(["unseen", "unseen"]);
  expect([stateOf("GPUs"), stateOf("clocks")]).toEqual(["seen", "seen"]);
  const compared = await runGpulse(["compare", ...files]);
  expect(compared.stdout).toMatch(
    /warning: Only one side saw all of its NUMA nodes: outside did \(\d+ nodes?\), inside not \(a tmpfs is mounted over \/sys\/devices\/system\/node\)/,
  );
  expect(compared.stdout).toContain("Only one side saw all of its cgroup limits");
}, 60_000);
