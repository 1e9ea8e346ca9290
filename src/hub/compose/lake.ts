/** The hub's lake: everything storage accepts, from agents and local sources alike, is also written to Parquet files. */
import type { CommandIo } from "../../cli/command/io.ts";
import { resolveLakeLocation } from "../../cli/command/lake.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { sinkContext } from "../../cli/command/sink-context.ts";
import type { FileStore } from "../../net/objects/store.ts";
import type { HubLake } from "../api/context.ts";
import type { HubJobs } from "../jobs/jobs.ts";
import type { JobLakeTable } from "../jobs/lake-table.ts";
import type { Sink } from "../../pipeline/sink.ts";
import type { Log } from "../../base/log.ts";

export interface OpenLake {
  /** For SQL queries; absent without a lake. */
  readonly lake: HubLake | undefined;
  readonly sinks: readonly Sink[];
  /** Its files, for tables not derived from frames; absent without a lake. */
  readonly files?: FileStore;
  close(): Promise<void>;
}

const none: OpenLake = { lake: undefined, sinks: [], close: async () => {} };

/** @param isOn the default if neither a flag nor the file sets it */
export async function openHubLake(
  settings: Settings,
  isOn: boolean,
  io: CommandIo,
  log: Log,
  trustedNowMs: () => number,
): Promise<OpenLake> {
  const place = resolveLakeLocation(settings.lake, settings.dataDir, isOn);
  if (place === undefined) return none;
  const { openLakeSink } = await import("../../sinks/parquet/open.ts");
  const { retentionMs, mirror, format } = settings.lake;
  const isFolder = !place.includes("://");
  const sink = await openLakeSink(
    "lake",
    place,
    {
      rows: 122_880,
      roll: 60_000,
      memory: 128 * 2 ** 20,
      series: true,
      format,
      snapshots: 86_400_000,
      // The data folder is locked, so all its files can be merged; a bucket may have other writers, which merge their own
      // files.
      merge: isFolder ? "all" : "own",
      retention: retentionMs,
      mirror,
      name: settings.hostName,
    },
    { ...sinkContext(settings, io, log), trustedNowMs },
  );
  log.info("writing the lake", { place: sink.lake.files.name });
  return {
    lake: { place, flush: (signal) => sink.lake.flush(signal) },
    sinks: [sink],
    files: sink.lake.files,
    close: () => sink.close(),
  };
}

/** Adds the job ledger's table to the lake; it is updated whenever the lake is. */
export async function withJobTable(
  { lake, files }: OpenLake,
  jobs: HubJobs | undefined,
  { hostName, lake: { retentionMs } }: Settings,
  { version }: CommandIo,
  log: Log,
): Promise<{ readonly lake: HubLake | undefined; readonly jobTable?: JobLakeTable }> {
  if (lake === undefined || files === undefined || jobs === undefined) return { lake };
  const [{ JobLakeTable: Opened }, { openLakeWorker }] = await Promise.all([
    import("../jobs/lake-table.ts"),
    import("../../lake/job.ts"),
  ]);
  const jobTable = new Opened({
    jobs,
    files,
    workers: openLakeWorker(),
    name: hostName,
    version,
    retentionMs,
    log,
    nowMs: Date.now,
  });
  const flush = async (signal: AbortSignal): Promise<void> => {
    await Promise.all([lake.flush(signal), jobTable.write(signal)]);
  };
  return { lake: { ...lake, flush }, jobTable };
}
