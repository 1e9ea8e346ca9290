/** Opens the job ledger if it is enabled in the settings. */
import type { Settings } from "../../cli/command/settings.ts";
import type { Log } from "../../base/log.ts";
import type { Anomaly } from "../../lake/analyses/anomaly/anomaly.ts";
import type { JobDirectory } from "../../runs/jobs/directory.ts";
import { SlurmCommands } from "../../runs/jobs/slurm/commands.ts";
import { SlurmRest } from "../../runs/jobs/slurm/rest.ts";
import { SlurmDirectory } from "../../runs/jobs/slurm/directory.ts";
import { HubJobs } from "./jobs.ts";

interface OpenJobsContext {
  readonly log: Log;
  readonly nowMs: () => number;
  readonly trustedNowMs: () => number;
  readonly anomalies: () => readonly Anomaly[];
}

export function openHubJobs(settings: Settings, context: OpenJobsContext): HubJobs | undefined {
  const { retentionMs } = settings.jobs;
  if (retentionMs === 0) return undefined;
  const { anomalies, ...shared } = context;
  return new HubJobs({
    ...shared,
    dataDir: settings.dataDir,
    retentionMs,
    isPseudonymous: settings.jobs.pseudonyms,
    directories: directoriesOf(settings, context),
    anomaliesOf: ({ host, uuid }) =>
      anomalies()
        .filter(({ device }) => device.uuid === uuid && device.host === host)
        .map(({ kind }) => kind),
  });
}

function directoriesOf(
  { jobs: { slurm, slurmUser, slurmTokenFile, slurmIntervalMs } }: Settings,
  { log, nowMs }: OpenJobsContext,
): readonly JobDirectory[] {
  if (slurm === "off") return [];
  const client =
    slurm === "commands"
      ? new SlurmCommands()
      : new SlurmRest({ url: slurm, user: slurmUser, tokenFile: slurmTokenFile });
  return [new SlurmDirectory({ client, intervalMs: slurmIntervalMs, log, nowMs })];
}
