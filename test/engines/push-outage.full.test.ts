import { beforeAll, expect, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { runOutage } from "./push-outage.ts";

beforeAll(() => ensureBuild());

test(
  "two minutes without the hub lose nothing, and keep nothing twice",
  { retry: 0, timeout: 400_000 },
  async () => {
    const { differences, frames, lost, ...report } = await runOutage(120);
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(differences).toEqual([]);
    expect(lost).toBe(0);
    // A frame every half second over more than two minutes; the second agent was down for two seconds of them.
    expect(frames["first"]?.length).toBeGreaterThan(230);
    expect(frames["second"]?.length).toBeGreaterThan(220);
  },
);
