import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { repository } from "../../engines/program.ts";
import { temporaryFolder, writeTree } from "../captures/tree.ts";

const script = path.join(repository, "deploy/slurm/gpu-health.sh");

/** Runs the script with a `gpulse` that prints the table and ends with the code, and a `scontrol` that notes its arguments. */
function drained(code: number, table: string): string {
  const bin = writeTree({
    "table.txt": table,
    gpulse: `#!/bin/sh\ncat "$(dirname "$0")/table.txt"\nexit ${code}`,
    scontrol: '#!/bin/sh\necho "$@" >> "$(dirname "$0")/calls"',
    calls: "",
  });
  for (const name of ["gpulse", "scontrol"]) chmodSync(path.join(bin, name), 0o755);
  const env = { PATH: `${bin}:/usr/bin:/bin`, SLURMD_NODENAME: "node-7" };
  const { status } = spawnSync("/bin/sh", [script], { env, cwd: temporaryFolder() });
  expect(status).toBe(0);
  return readFileSync(path.join(bin, "calls"), "utf8").trim();
}

const table = `node-7: 2 GPUs, failing

GPU            STATUS   REASON                            ACTION
0 NVIDIA H200  healthy  -                                 -
1 NVIDIA H200  failing  Xid 48 (Double-bit ECC error).    drain the jobs and reset the GPU`;

test("Slurm's health check drains the node of a failing GPU, with the reason", () => {
  expect(drained(5, table)).toBe(
    "update nodename=node-7 state=drain reason=gpulse: 1 NVIDIA H200 failing Xid 48 (Double-bit ECC error). drain the jobs and reset the GPU",
  );
});

test.each([0, 1, 3, 4])("exit code %i drains nothing", (code) => {
  expect(drained(code, table)).toBe("");
});
