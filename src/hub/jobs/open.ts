/** Opens the job ledger if it is enabled in the settings. */
import type { Settings } from "../../cli/command/settings.ts";
import type { Log } from "../../base/log.ts";
import type { JobDirectory } from "../../runs/jobs/directory.ts";
import { SlurmCommands } from "../../runs/jobs/slurm/commands.ts";
import { SlurmRest } from "../../runs/jobs/slurm/rest.ts";
import { SlurmDirectory } from "../../runs/jobs/slurm/directory.ts";
import { HubJobs, type HubJobsOptions } from "./jobs.ts";

interface OpenJobsContext {
  readonly log: Log;
  readonly nowMs: () => number;
  readonly trustedNowMs: () => number;
  readonly anomaliesOf: NonNullable<HubJobsOptions["anomaliesOf"]>;
}

export function openHubJobs(settings: Settings, context: OpenJobsContext): HubJobs | undefined {
  const { retentionMs } = settings.jobs;
  if (retentionMs === 0) return undefined;
  return new HubJobs({
    ...context,
    dataDir: settings.dataDir,
    retentionMs,
    isPseudonymous: settings.jobs.pseudonyms,
    directories: directoriesOf(settings, context),
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
