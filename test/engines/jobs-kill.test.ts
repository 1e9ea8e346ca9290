import { beforeAll, expect, test } from "vitest";
import { ensureBuild } from "../../engines/program.ts";
import { killHub, killLedger } from "../jobs/kill.ts";

beforeAll(ensureBuild, 300_000);

test("500 jobs and 10 kills of the process that keeps the ledger: none lost, none counted twice", async () => {
  expect(await killLedger(500, 10, 26)).toEqual({
    kills: 10,
    jobs: 500,
    lost: 0,
    countedTwice: 0,
    different: 0,
    unclosedBooks: 0,
  });
});

test(
  "500 jobs and 5 kills of the hub that an agent pushes to: none lost, none counted twice",
  { timeout: 300_000 },
  async () => {
    expect(await killHub(500, 5, 26)).toEqual({
      kills: 5,
      jobs: 500,
      lost: 0,
      countedTwice: 0,
      different: 0,
      unclosedBooks: 0,
    });
  },
);
