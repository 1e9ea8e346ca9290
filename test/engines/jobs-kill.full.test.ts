import { beforeAll, expect, test } from "vitest";
import { ensureBuild } from "../../engines/program.ts";
import { killHub, killLedger } from "../jobs/kill.ts";

beforeAll(ensureBuild, 300_000);

test(
  "10,000 jobs and 200 kills of the process that keeps the ledger: none lost, none counted twice",
  { timeout: 1_800_000 },
  async () => {
    const result = await killLedger(10_000, 200, 26);
    expect(result).toEqual({
      kills: 200,
      jobs: 10_000,
      lost: 0,
      countedTwice: 0,
      different: 0,
      unclosedBooks: 0,
    });
  },
);

test(
  "10,000 jobs and 200 kills of the hub that an agent pushes to: none lost, none counted twice",
  { timeout: 1_800_000 },
  async () => {
    expect(await killHub(10_000, 200, 26)).toEqual({
      kills: 200,
      jobs: 10_000,
      lost: 0,
      countedTwice: 0,
      different: 0,
      unclosedBooks: 0,
    });
  },
);
