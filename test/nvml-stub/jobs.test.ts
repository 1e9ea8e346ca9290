// Jobs that processes name themselves, end to end: real processes with W&B's, MLflow's and gpulse's variables in their environment,
// which the NVML stub reports on GPUs, an agent that reads /proc, a hub and its command line.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { startHub } from "../../engines/hub.ts";
import { ensureBuild, program, runGpulse, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { buildStub } from "./stub.ts";

interface ListedJob {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly gpuSeconds: number;
}

test(
  "WANDB_RUN_ID, MLFLOW_RUN_ID, GPULSE_JOB and gpulse run make jobs, which list, show, report and bill have",
  { timeout: 300_000 },
  async (context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-named-jobs-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const stub = await buildStub();
    onTestFinished(() => stub.remove());
    const children: ChildProcess[] = [];
    onTestFinished(() => {
      for (const child of children) child.kill("SIGKILL");
    });
    const start = (command: readonly string[], env: Readonly<Record<string, string>>): number => {
      const [file = "", ...args] = command;
      const child = spawn(file, args, { env: { PATH: process.env["PATH"], ...env } });
      children.push(child);
      if (child.pid === undefined) throw new Error(`${file} did not start`);
      return child.pid;
    };
    const sleep = ["sleep", "600"];
    const pids = [
      start(sleep, { WANDB_RUN_ID: "3x1abc" }),
      start(sleep, { MLFLOW_RUN_ID: "9f8e7d6c" }),
      start(sleep, { GPULSE_JOB: "nightly" }),
    ];
    const source = `nvidia:?library=${stub.library}&slow-every=1s`;
    // Busy at 500 W.
    const beganMs = Date.now();
    const script = (of: readonly number[]): void =>
      stub.script(
        "gpus 4",
        ...of.flatMap((pid, gpu) => [
          `process ${gpu} ${pid} 4000000000 C`,
          `${gpu}.utilization 90`,
          `${gpu}.energy ${(Date.now() - beganMs) * 500}`,
        ]),
      );
    script(pids);
    // The command of `gpulse run` inherits the run's id.
    const pidFile = path.join(folder, "pid");
    start(
      [
        process.execPath,
        program,
        "run",
        "--baseline",
        "0",
        "--source",
        source,
        "--out",
        path.join(folder, "bench.gpulserun"),
        "--label",
        "bench",
        "--",
        "sh",
        "-c",
        `echo $$ > ${pidFile}; exec sleep 600`,
      ],
      { HOME: folder },
    );
    const ran = await waitUntil({ what: "the command of gpulse run", timeoutMs: 60_000 }, () => {
      const pid = Number(readFileSync(pidFile, "utf8"));
      return Promise.resolve(pid > 0 ? pid : undefined);
    });
    const timer = setInterval(() => script([...pids, ran]), 250);
    onTestFinished(() => clearInterval(timer));

    const hub = await startHub({ dataDir: path.join(folder, "data") });
    onTestFinished(() => hub.stop());
    const agent = await startAgent([
      "--source",
      source,
      "--host-name",
      "lab",
      "--push",
      hub.url,
      "--spool",
      path.join(folder, "spool"),
    ]);
    onTestFinished(() => agent.stop());

    const gpulse = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await runGpulse(["jobs", ...args, "--url", hub.url]);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout;
    };
    const listed = await waitUntil(
      { what: "four jobs with GPU time", timeoutMs: 60_000 },
      async () => {
        const { jobs } = JSON.parse(await gpulse("list", "--json")) as {
          readonly jobs: readonly ListedJob[];
        };
        expect(jobs.map(({ kind }) => kind).sort()).toEqual(["mlflow", "named", "named", "wandb"]);
        return jobs.every(({ gpuSeconds }) => gpuSeconds > 2) ? jobs : undefined;
      },
    );
    const named = listed.filter(({ kind }) => kind === "named").map(({ name }) => name);
    expect(named).toContain("nightly");
    const runId = named.find((name) => name !== "nightly") ?? "";
    const environment = readFileSync(`/proc/${ran}/environ`, "utf8").split("\0");
    expect(environment).toContain(`GPULSE_JOB=${runId}`);
    for (const [kind, name] of [
      ["wandb", "3x1abc"],
      ["mlflow", "9f8e7d6c"],
    ])
      expect(listed.find((job) => job.kind === kind)?.name).toBe(name);

    for (const { id, name } of listed) {
      const { job } = JSON.parse(await gpulse("show", id, "--json")) as {
        job: { stretches: readonly { gpu: number; host: string; joules: number }[] };
      };
      expect(job.stretches).toMatchObject([{ host: "lab" }]);
      expect(job.stretches[0]?.joules).toBeGreaterThan(0);
      const report = path.join(folder, `${job.stretches[0]?.gpu ?? ""}.html`);
      await gpulse("report", id, "--out", report);
      expect(readFileSync(report, "utf8")).toContain(`<title>Job ${name}</title>`);
      expect(await gpulse("report", id, "--text")).toContain("Held 1 GPU, used 1");
    }
    const { lines } = JSON.parse(await gpulse("bill", "--by", "kind", "--json")) as {
      readonly lines: readonly { readonly name: string; readonly jobs: number }[];
    };
    expect(Object.fromEntries(lines.map(({ name, jobs }) => [name, jobs]))).toEqual({
      mlflow: 1,
      named: 2,
      wandb: 1,
    });
  },
);
