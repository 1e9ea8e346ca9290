// A real Slurm with four nodes, an agent with the NVML stub for each, and a hub that reads the controller.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { EngineMissingError } from "../../engines/cache.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { type Killable, startPushAgent } from "../../engines/push.ts";
import { ensureBuild, program, repository } from "../../engines/program.ts";
import { type RunningSlurm, startSlurm } from "../../engines/slurm.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import type { JobRecord } from "../../src/runs/jobs/record.ts";
import type { JobSummary } from "../../src/view/jobs/summary.ts";

export interface SlurmLab {
  readonly slurm: RunningSlurm;
  /** The hub's token for slurmrestd. */
  readonly tokenFile: string;
  hub(): RunningHub;
  get<Body>(route: string): Promise<Body>;
  /** Sets which process uses which GPU of a node: `process GPU PID BYTES C`. */
  script(node: string, ...lines: readonly string[]): void;
  /** The process id that a job wrote to its file. */
  pidOf(job: string): Promise<number>;
  /** The epilog's report about the job. */
  reportOf(job: string): Promise<string>;
  killHub(): Promise<void>;
  restartHub(): Promise<void>;
  close(): Promise<void>;
}

/** The stub's GPUs are at 0 unless a line changes that. */
const idleScript = ["gpus 4", "*.utilization 0"];

export interface SlurmLabOptions {
  /** True for a hub that reads slurmrestd instead of running Slurm's commands. */
  readonly rest?: boolean;
}

/** Opens one lab for the tests of a file; if that is not possible, they are skipped with the reason. */
export function useSlurmLab(options: SlurmLabOptions = {}): () => SlurmLab {
  let opened: SlurmLab | undefined;
  let missing: string | undefined;
  beforeAll(async () => {
    const gcc = findTool("gcc");
    if (process.getuid?.() !== 0) missing = "needs root: slurmd and mknod do";
    else if ("missing" in gcc) missing = gcc.missing;
    else
      try {
        await ensureBuild();
        opened = await openSlurmLab(options);
      } catch (error) {
        if (!(error instanceof EngineMissingError)) throw error;
        missing = error.message;
      }
  }, 240_000);
  beforeEach((context) => {
    if (missing !== undefined) context.skip(missing);
  });
  afterAll(async () => opened?.close(), 60_000);
  return () => {
    if (opened === undefined) throw new Error("BUG: the lab was not opened");
    return opened;
  };
}

async function openSlurmLab({ rest = false }: SlurmLabOptions): Promise<SlurmLab> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-slurm-lab-"));
  const closers: (() => Promise<unknown> | void)[] = [
    () => rmSync(dir, { recursive: true, force: true }),
  ];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    const epilog = path.join(dir, "epilog.sh");
    writeFileSync(epilog, "#!/bin/sh\n", { mode: 0o755 });
    const slurm = await startSlurm({ configuration: [`EpilogSlurmctld=${epilog}`], rest });
    closers.push(() => slurm.stop());
    const tokenFile = path.join(dir, "slurm.jwt");
    if (slurm.restUrl !== undefined) {
      writeFileSync(tokenFile, await newToken(slurm));
      writeFileSync(path.join(dir, configName), restConfig(slurm.restUrl, tokenFile));
    }
    let hub = await launch(dir, slurm);
    closers.push(() => hub.stop());
    // slurmctld does not pass its environment to an epilog.
    writeFileSync(epilog, epilogScript(dir, hub.url));
    const stub = await buildStub();
    closers.push(() => stub.remove());
    const script = (node: string, ...lines: readonly string[]): void =>
      writeFileSync(path.join(dir, node, "script"), `${[...idleScript, ...lines].join("\n")}\n`);
    for (const node of slurm.nodes) {
      mkdirSync(path.join(dir, node));
      const library = path.join(dir, node, "libnvidia-ml.so.1");
      stub.copyTo(library);
      script(node);
      const agent: Killable = await startPushAgent({
        hostName: node,
        source: `nvidia:?library=${library}&slow-every=1s`,
        spool: path.join(dir, node, "spool"),
        args: [`--push=${hub.url}`, "--interval=1s"],
      });
      closers.push(() => agent.stop());
    }
    return {
      slurm,
      tokenFile,
      hub: () => hub,
      get: async <Body>(route: string) => (await (await fetch(hub.url + route)).json()) as Body,
      script,
      pidOf: (job) =>
        waitUntil({ what: `job ${job} to write its process id`, timeoutMs: 30_000 }, async () =>
          Number(readFileSync(path.join(slurm.folder, `pid-${job}`), "utf8")),
        ),
      reportOf: (job) =>
        waitUntil({ what: `the epilog's report on job ${job}`, timeoutMs: 60_000 }, async () =>
          readFileSync(path.join(dir, `${job}.txt`), "utf8"),
        ),
      killHub: () => hub.kill(),
      restartHub: async () => {
        hub = await launch(dir, slurm, Number(new URL(hub.url).port));
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The shipped epilog, with the commands of this checkout. */
const epilogScript = (dir: string, url: string): string => `#!/bin/sh
export PATH="${path.dirname(program)}:${path.dirname(process.execPath)}:/usr/bin:/bin"
export GPULSE_URL="${url}" GPULSE_REPORTS="${dir}" GPULSE_RETRY_SECONDS=1
exec "${path.join(repository, "deploy/slurm/job-report.sh")}"
`;

const configName = "gpulse.yaml";

/** The hub's token needs no rights: every user may list all jobs unless PrivateData hides them. */
const restUser = "nobody";

const restConfig = (url: string, tokenFile: string): string => `hub:
  slurm: ${url}
  slurm_user: ${restUser}
  slurm_token_file: ${tokenFile}
  slurm_interval: 1s
`;

/** As `scontrol` prints it: `SLURM_JWT=…`. */
export const newToken = (slurm: RunningSlurm): Promise<string> =>
  slurm.client("scontrol", "token", `username=${restUser}`, "lifespan=3600");

const launch = (dir: string, slurm: RunningSlurm, port?: number): Promise<RunningHub> =>
  startHub({
    dataDir: path.join(dir, "data"),
    ...(slurm.restUrl === undefined
      ? { args: ["--slurm=commands", "--slurm-interval=1s"], env: slurm.env }
      : { args: [`--config=${path.join(dir, configName)}`] }),
    ...(port === undefined ? {} : { port }),
  });

export interface AccountedAttempt {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly gpuSeconds: number;
  readonly cpuSeconds: number;
  readonly peakMemoryBytes: number | undefined;
}

/** `sacct`'s output for every attempt of every ended job with GPUs. */
export async function accounted(slurm: RunningSlurm): Promise<readonly AccountedAttempt[]> {
  const columns = "JobIDRaw,JobName,State,ElapsedRaw,AllocTRES,TotalCPU,MaxRSS";
  const args = ["-D", "--parsable2", "--noheader", "--noconvert", `--format=${columns}`];
  const printed = await slurm.client("sacct", ...args);
  const attempts: (AccountedAttempt & { peakMemoryBytes: number | undefined })[] = [];
  for (const line of printed.trim().split("\n")) {
    const [id = "", name = "", state = "", elapsed = "", tres = "", cpu = "", rss = ""] =
      line.split("|");
    const last = attempts.at(-1);
    if (id.includes(".")) {
      // A step of the previous job.
      const bytes = Number(/^(\d+)/.exec(rss)?.[1] ?? 0) * (rss.endsWith("K") ? 1_024 : 1);
      if (last !== undefined && bytes > 0)
        last.peakMemoryBytes = Math.max(last.peakMemoryBytes ?? 0, bytes);
      continue;
    }
    const gpus = Number(/gres\/gpu=(\d+)/.exec(tres)?.[1] ?? 0);
    const gpuSeconds = gpus * Number(elapsed);
    attempts.push({
      id,
      name,
      state: state.split(" ")[0] ?? "",
      gpuSeconds,
      cpuSeconds: secondsOf(cpu),
      peakMemoryBytes: undefined,
    });
  }
  return attempts.filter(({ gpuSeconds }) => gpuSeconds > 0);
}

/** `[HH:]MM:SS[.mmm]`; no job here runs for days. */
const secondsOf = (text: string): number =>
  text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);

export interface ListedJobs {
  readonly problems: readonly string[];
  readonly jobs: readonly JobSummary[];
}

export async function endedJobs(lab: SlurmLab): Promise<readonly JobRecord[]> {
  const { jobs } = await lab.get<ListedJobs>("/api/jobs?state=ended&kind=slurm&limit=1000");
  return Promise.all(
    jobs.map(
      async ({ id }) =>
        (await lab.get<{ job: JobRecord }>(`/api/jobs/${encodeURIComponent(id)}`)).job,
    ),
  );
}

export const listedJobs = (lab: SlurmLab): Promise<ListedJobs> =>
  lab.get<ListedJobs>("/api/jobs?kind=slurm");

export const untilRunning = (lab: SlurmLab, id: string): Promise<true> =>
  waitUntil({ what: `job ${id} to run`, timeoutMs: 60_000 }, async () => {
    const state = await lab.slurm.client("squeue", "-h", "-j", id, "-o", "%T");
    return state.trim() === "RUNNING" ? true : undefined;
  });

/** The attempts of a job, once the ledger has closed this many. */
export const untilEnded = (
  lab: SlurmLab,
  id: string,
  attempts = 1,
): Promise<readonly JobRecord[]> =>
  waitUntil({ what: `the ledger to close job ${id}`, timeoutMs: 90_000 }, async () => {
    const jobs = (await endedJobs(lab)).filter(({ scheduler }) => scheduler?.id === id);
    if (jobs.length === attempts) return jobs;
    const states = (await listedJobs(lab)).jobs.map((job) => `${job.id} ${job.state}`);
    throw new Error(`it has ${states.join(", ")}`);
  });

interface ComparedJob {
  readonly id: string;
  readonly sacct: readonly number[];
  readonly ledger: readonly number[];
}

/** The last test of a file: every attempt is in the ledger once, with `sacct`'s GPU-seconds within 1 s. */
export function testGpuSeconds(lab: () => SlurmLab, atLeast: number): void {
  test("GPU-seconds of every attempt equal sacct's within 1 s, and none is there twice", async () => {
    const rows = await waitUntil(
      { what: "all attempts to be closed", timeoutMs: 50_000 },
      async () => {
        const all = await compareWithSacct(lab());
        return all.every(({ sacct, ledger }) => sacct.length === ledger.length) ? all : undefined;
      },
    );
    expect(rows.length).toBeGreaterThanOrEqual(atLeast);
    const apart = rows.filter(({ sacct, ledger }) =>
      sacct.some((seconds, at) => Math.abs(seconds - (ledger[at] ?? -100)) > 1),
    );
    expect(apart).toEqual([]);
  }, 60_000);
}

/** GPU-seconds of each attempt, by job id, in ascending order: `sacct`'s and the ledger's. */
async function compareWithSacct(lab: SlurmLab): Promise<readonly ComparedJob[]> {
  const sacct = groupById(
    (await accounted(lab.slurm)).map(({ id, gpuSeconds }) => [id, gpuSeconds]),
  );
  const ledger = groupById(
    (await endedJobs(lab)).map((job) => [
      job.scheduler?.id ?? job.id,
      job.stretches.reduce((sum, { gpuSeconds }) => sum + gpuSeconds, 0),
    ]),
  );
  const rows = [...new Set([...sacct.keys(), ...ledger.keys()])].map((id) => ({
    id,
    sacct: sacct.get(id) ?? [],
    ledger: ledger.get(id) ?? [],
  }));
  const shown = rows.map(
    (row) =>
      `${row.id}: ${row.sacct.join("+")} ${row.ledger.map((own) => own.toFixed(1)).join("+")}`,
  );
  process.stdout.write(`GPU-seconds by job, sacct and ledger: ${shown.join("; ")}\n`);
  return rows;
}

function groupById(entries: readonly (readonly [string, number])[]): Map<string, number[]> {
  const byId = new Map<string, number[]>();
  for (const [id, seconds] of entries)
    byId.set(
      id,
      [...(byId.get(id) ?? []), seconds].sort((one, two) => one - two),
    );
  return byId;
}
