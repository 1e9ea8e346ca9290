import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { analyseLake, objects } from "../../../test/fixtures/lake/analyses.ts";
import { silentLog } from "../../base/log.ts";
import { runLakeJob } from "../../lake/job.ts";
import { FolderFiles } from "../../net/objects/folder.ts";
import type { JobDayPart } from "../../runs/jobs/record.ts";
import { HubJobs } from "./jobs.ts";
import { JobLakeTable } from "./lake-table.ts";

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 10, 18);
let dir = "";
let jobs: HubJobs;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-job-table-"));
  jobs = new HubJobs({
    dataDir: path.join(dir, "data"),
    retentionMs: 3 * 365 * dayMs,
    log: silentLog,
    nowMs: () => startMs,
    trustedNowMs: () => startMs,
  });
});
afterEach(() => {
  jobs.close();
  rmSync(dir, { recursive: true, force: true });
});

const open = (): JobLakeTable =>
  new JobLakeTable({
    jobs,
    files: new FolderFiles(path.join(dir, "lake")),
    workers: { run: runLakeJob, close: async () => {} },
    name: "hub 1",
    version: "test",
    retentionMs: 30 * dayMs,
    log: silentLog,
    nowMs: () => startMs,
  });

const part = (id: string, hours: JobDayPart["hours"], more: Partial<JobDayPart> = {}) => ({
  id,
  name: "train",
  kind: "slurm" as const,
  hours,
  ...more,
});

const hour = startMs / 3_600_000;
function writeDays(): void {
  jobs.files.write({
    jobs: [],
    books: [],
    parts: [
      {
        day: "2026-11-17",
        part: part("slurm:1@1", [[hour - 1, 7_200, 3_600, 3_600, 3.6e6]], {
          user: "ada",
          account: "physics",
        }),
      },
      {
        day: "2026-11-18",
        part: part("slurm:1@1", [[hour, 3_600, 3_600, 0, 1.8e6]], {
          user: "ada",
          account: "physics",
        }),
      },
      {
        day: "2026-11-18",
        part: part("pod:x/y@1", [[hour, 3_600, 0, 0, 3.6e6]], { namespace: "x" }),
      },
      { day: "2026-01-01", part: part("slurm:0@1", [[hour - 8_000, 1, 1, 0, 1]]) },
    ],
  });
}

test("DuckDB sums up the hours of jobs by user, account, project and day", async () => {
  writeDays();
  await open().close();
  const lake = path.join(dir, "lake");
  expect(readdirSync(path.join(lake, "jobs")).sort()).toEqual([
    "date=2026-11-17",
    "date=2026-11-18",
  ]);
  const names = ["jobs_user", "jobs_account", "jobs_project", "jobs_day"];
  const [users, accounts, projects, days] = await analyseLake(lake, names, { price: "0.5" });
  expect(objects(users)).toEqual([
    {
      user: "-",
      jobs: 1,
      gpu_hours: 1,
      useful_hours: 0,
      held_idle_hours: 0,
      useful_share: null,
      energy_kwh: 1,
      cost: 0.5,
      co2_grams: null,
    },
    {
      user: "ada",
      jobs: 1,
      gpu_hours: 3,
      useful_hours: 2,
      held_idle_hours: 1,
      useful_share: 2 / 3,
      energy_kwh: 1.5,
      cost: 0.75,
      co2_grams: null,
    },
  ]);
  expect(objects(accounts).map(({ account, jobs: count }) => [account, count])).toEqual([
    ["-", 1],
    ["physics", 1],
  ]);
  expect(objects(projects).map(({ project }) => project)).toEqual(["physics", "x"]);
  expect(objects(days).map(({ day, gpu_hours: hours }) => [day, hours])).toEqual([
    ["2026-11-17", 2],
    ["2026-11-18", 2],
  ]);
  const [zoned] = await analyseLake(lake, ["jobs_day"], { timezone: "Europe/Berlin" });
  expect(objects(zoned).map(({ day }) => day)).toEqual(["2026-11-18"]);
});

test("a day is written again only when it has changed, and made again when it is lost", async () => {
  writeDays();
  const table = open();
  await table.write();
  const file = path.join(dir, "lake/jobs/date=2026-11-17/ledger-hub_1.parquet");
  utimesSync(file, 1, 1);
  await table.write();
  expect(statSync(file).mtimeMs).toBe(1_000);
  jobs.files.write({
    jobs: [],
    books: [],
    parts: [{ day: "2026-11-17", part: part("slurm:2@1", [[hour - 2, 1, 1, 0, 1]]) }],
  });
  await table.write();
  expect(statSync(file).mtimeMs).toBeGreaterThan(1_000);
  rmSync(file);
  await table.close();
  await open().close();
  expect(statSync(file).size).toBeGreaterThan(100);
});
