import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type FaultName, faultNames } from "../src/sources/sim/fleet/faults.ts";
import type { PlannedFault } from "./detect-plan.ts";
import { judgeRecording } from "./detect-recorded.ts";
import { run } from "./detect-run.ts";
import { isHidden } from "./detect-score.ts";
import { expectedVerdicts } from "./detect-verdict.ts";

const minuteMs = 60_000;
const fault = (
  name: FaultName,
  host: number,
  gpu: number,
  amount?: number,
  forMinutes = 30,
): PlannedFault => ({
  fault: name,
  host,
  gpu,
  atMs: 60 * minuteMs,
  forMs: forMinutes * minuteMs,
  amount,
  matters: true,
  ownFans: host === 1,
});

/** Stragglers and leaks show only relative to a GPU's past and peers, for which the benchmark has enough hours. */
const faults: readonly PlannedFault[] = [
  fault("fan-failure", 0, 0),
  fault("ecc-growth", 0, 1, 6),
  fault("xid", 0, 2, 48),
  fault("xid", 0, 3, 31),
  fault("gpu-lost", 0, 4),
  fault("power-brake", 0, 5),
  fault("pcie-downgrade", 0, 6, 1),
  fault("stuck-clocks", 0, 7, 0.35),
  fault("fan-failure", 1, 0),
  fault("xid", 1, 1, 79),
  fault("degraded-paste", 1, 2, 3.5),
  fault("hung-driver", 2, -1, undefined, 3),
];

test(
  "each fault of the simulator ends in its state and action, and sound GPUs in none",
  { timeout: 120_000 },
  async () => {
    const done = await run({
      seed: 5,
      hosts: [
        Array.from({ length: 8 }, () => "H200"),
        ["RTX 4090", "RTX 4090", "RTX 4090", "RTX 4090"],
        ["H200", "H200"],
      ],
      faults,
      untilMs: 95 * minuteMs,
      noRules: true,
      progress: () => {},
    });
    const judged = done.verdicts.filter((one) => !isHidden(done, one.fault));
    expect(judged.length).toBeGreaterThanOrEqual(10);
    for (const { fault: one, expected, worst } of judged)
      expect(expected, `${one.fault} ${one.amount ?? ""} ended as ${worst}`).toContain(worst);
    expect(done.falseVerdicts).toEqual([]);
  },
);

test("every fault has a verdict it should end in", () => {
  for (const name of faultNames)
    expect(expectedVerdicts({ fault: name, amount: undefined }, "nvidia").length).toBeGreaterThan(
      0,
    );
  expect(expectedVerdicts({ fault: "xid", amount: 79 }, "nvidia")).toEqual(["failing reboot"]);
  expect(expectedVerdicts({ fault: "xid", amount: 31 }, "nvidia")).toEqual(["healthy restart_app"]);
});

const captures = new URL("../src/sources/sim/captures/", import.meta.url);

test.each(["h200-first", "h200-mixed", "h200-unseen", "h200-bursts", "h200-ramps"])(
  "what a real H200 did (%s) is healthy throughout",
  (folder) => {
    const { seconds, states, reasons } = judgeRecording(fileURLToPath(new URL(folder, captures)));
    expect(seconds).toBeGreaterThan(60);
    expect([states, reasons]).toEqual([{ healthy: seconds }, []]);
  },
);
