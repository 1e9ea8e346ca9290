/** Days of jobs on one GPU, written by the job ledger into a hub's data folder before it starts. */
import { silentLog } from "../../src/base/log.ts";
import { HubJobs } from "../../src/hub/jobs/jobs.ts";
import { gpu } from "../../src/model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../src/model/device.ts";
import { FrameWriter } from "../../src/model/frame.ts";
import { LayoutBuilder } from "../../src/model/layout.ts";
import type { Delivery } from "../../src/pipeline/sink.ts";

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000] as const;

export const pastHost = "node7";
const device: Device = {
  uuid: "GPU-LEDGER",
  index: 0,
  vendor: "nvidia",
  model: "H200",
  simulated: false,
};
export const pastGpu = `${device.uuid}@${pastHost}`;

export interface PastJob {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * A job of two hours three days ago, one over a midnight, two that overlap, and one that ran when the machine was switched off
 * yesterday.
 */
export function pastJobsOf(nowMs: number): readonly PastJob[] {
  const day = (before: number, hour: number): number =>
    new Date(nowMs - before * DAY_MS).setHours(hour, 0, 0, 0);
  return [
    { name: "100", fromMs: day(4, 10), toMs: day(4, 12) },
    { name: "101", fromMs: day(3, 22), toMs: day(2, 2) },
    { name: "102", fromMs: day(2, 10), toMs: day(2, 11) },
    { name: "103", fromMs: day(2, 10) + HOUR_MS / 2, toMs: day(2, 12) },
    { name: "104", fromMs: day(2, 15), toMs: day(2, 18) },
  ];
}

/** A reading a minute while a job runs and for ten minutes after it, but none after the last. */
export function writePastJobs(dataDir: string, jobs: readonly PastJob[]): void {
  let nowMs = 0;
  const ledger = new HubJobs({
    dataDir,
    retentionMs: 365 * DAY_MS,
    log: silentLog,
    nowMs: () => nowMs,
    trustedNowMs: () => nowMs,
  });
  const [first, last] = [jobs[0]?.fromMs ?? 0, jobs.at(-1)?.toMs ?? 0];
  for (let ms = first; ms <= last; ms += MINUTE_MS) {
    nowMs = ms;
    if (jobs.some(({ fromMs, toMs }) => ms >= fromMs && ms <= toMs + 10 * MINUTE_MS))
      ledger.take(reading(ms, (ms - first) / 1_000, jobs));
  }
  ledger.close();
}

function reading(ms: number, seconds: number, jobs: readonly PastJob[]): Delivery {
  const running = jobs.filter(({ fromMs, toMs }) => ms >= fromMs && ms <= toMs);
  const builder = new LayoutBuilder();
  const energy = builder.add(gpu.energy, deviceLabels(device, pastHost));
  const activity = builder.add(gpu.smActivity, deviceLabels(device, pastHost));
  const processes = builder.add(gpu.processes, deviceLabels(device, pastHost));
  const owners = running.map(({ name }) =>
    builder.add(gpu.ownerInfo, deviceLabels(device, pastHost, { workload: name, user: "ada" })),
  );
  const writer = new FrameWriter(builder.build(), ms);
  writer.set(energy, 5_000 + 100 * seconds);
  writer.set(activity, running.length === 0 ? 0 : 0.875);
  writer.set(processes, running.length);
  for (const owner of owners) writer.set(owner, 1);
  return {
    frame: writer.finish(),
    source: `agent:${pastHost}/nvidia`,
    tier: "slow",
    freshForMs: 90_000,
    devices: [device],
    host: pastHost,
  };
}

/** What makes the GPU known to the page: it reported until an hour ago. */
export function pastGpuInfo(nowMs: number): string {
  const seconds = Math.floor(nowMs / 1_000) - 3_600;
  const labels = `uuid="${device.uuid}",host="${pastHost}",gpu="0"`;
  return [
    "# TYPE gpu_up gauge",
    `gpu_up{${labels}} 1 ${seconds}`,
    "# TYPE gpu_info gauge",
    `gpu_info{${labels},model="H200",vendor="nvidia"} 1 ${seconds}`,
    "# EOF\n",
  ].join("\n");
}
