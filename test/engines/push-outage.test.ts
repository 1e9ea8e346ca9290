import { beforeAll, expect, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { runOutage } from "./push-outage.ts";

beforeAll(() => ensureBuild());

test(
  "a hub that is away under load, and an agent killed meanwhile: nothing lost, nothing twice, in order",
  { retry: 0, timeout: 180_000 },
  async () => {
    const { differences, frames, up, lost, ...report } = await runOutage(20);
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(differences).toEqual([]);
    expect(lost).toBe(0);
    expect(report.series).toBeGreaterThan(400);
    expect(Object.keys(frames).sort()).toEqual(["first", "second"]);
    for (const times of Object.values(frames)) {
      expect(times.length).toBeGreaterThan(30);
      expect(times).toEqual([...new Set(times)].sort((left, right) => left - right));
    }
    expect(Object.values(up)).toEqual(["1", "1"]);
  },
);
