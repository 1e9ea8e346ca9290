// MLPerf LoadGen under `gpulse run --result`: its work count, and the energy of its measurement window.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { loadgen } from "../../engines/loadgen.ts";
import { readRunFile } from "../../src/runs/file/file.ts";
import { measuredSpan } from "../../src/runs/run.ts";
import { joulesByHand } from "./joules-by-hand.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-loadgen-"));
const driver = fileURLToPath(new URL("loadgen.py", import.meta.url));
beforeAll(ensureBuild, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const [scenario, unit] of [
  ["Offline", "tokens"],
  ["SingleStream", "samples"],
] as const)
  test(
    `LoadGen's ${scenario} run counts ${unit} over its own window`,
    { timeout: 180_000 },
    async (context) => {
      const { python } = await orSkip(context, loadgen());
      const logs = path.join(folder, scenario);
      mkdirSync(logs);
      const out = path.join(folder, `${scenario}.gpulserun`);
      const { code, stderr } = await runGpulse([
        "run",
        "--source=sim:1?seed=5",
        "--baseline=300ms",
        `--result=${logs}`,
        `--out=${out}`,
        "--",
        python,
        driver,
        logs,
        scenario,
      ]);
      expect(code, stderr).toBe(0);
      const { run, trace } = await readRunFile(out);
      const detail = readFileSync(path.join(logs, "mlperf_log_detail.txt"), "utf8");
      const valueOf = (key: string): number =>
        Number(new RegExp(`"key": "${key}", "value": ([0-9.]+)`).exec(detail)?.[1]);
      const samples = valueOf("result_query_count") * valueOf("generated_samples_per_query");
      expect(run.work?.unit).toBe(unit);
      const amount = unit === "tokens" ? samples * 20 : samples;
      expect((run.work?.amount ?? 0) / amount).toBeCloseTo(1, 2);
      const [fromMs, toMs] = measuredSpan(run);
      // The pauses before and after only belong to the command.
      expect(fromMs - run.startedMs).toBeGreaterThan(1_400);
      expect(run.endedMs - toMs).toBeGreaterThan(900);
      const [device] = run.devices;
      const gpu = trace.get(device?.uuid ?? "");
      const watts =
        gpu?.columns.get("gpu_power_instant_watts") ?? gpu?.columns.get("gpu_power_watts");
      if (gpu === undefined || watts === undefined) throw new Error("no power was recorded");
      const byHand = joulesByHand(gpu.timeMs, watts, [fromMs, toMs]);
      expect(Math.abs((device?.energy.integratedJoules ?? 0) / byHand - 1)).toBeLessThan(0.005);
      const system = await runGpulse(["runs", "mlperf", out, "--json"]);
      expect(JSON.parse(system.stdout)).toMatchObject({
        system: { number_of_nodes: "1" },
        energy: {
          measured: "window of the result",
          notice: expect.stringContaining("not MLPerf Power") as unknown,
        },
      });
    },
  );
