/** The hub's lake: everything storage accepts, from agents and local sources alike, also goes into Parquet files. */
import type { CommandIo } from "../../cli/command/io.ts";
import { resolveLakeLocation } from "../../cli/command/lake.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { sinkContext } from "../../cli/command/sink-context.ts";
import type { HubLake } from "../api/context.ts";
import type { Sink } from "../../pipeline/sink.ts";
import type { Log } from "../../base/log.ts";

export interface OpenLake {
  /** For SQL queries; absent where no lake is kept. */
  readonly lake: HubLake | undefined;
  readonly sinks: readonly Sink[];
  close(): Promise<void>;
}

const none: OpenLake = { lake: undefined, sinks: [], close: async () => {} };

/** `isOn` says what holds where neither flag nor file speaks of it. */
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
  const { retentionMs, mirror } = settings.lake;
  const isFolder = !place.includes("://");
  const sink = await openLakeSink(
    "lake",
    place,
    {
      rows: 122_880,
      memory: 128 * 2 ** 20,
      series: true,
      // The data folder is locked; a bucket may have other writers, whose files are theirs to merge.
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
    close: () => sink.close(),
  };
}
