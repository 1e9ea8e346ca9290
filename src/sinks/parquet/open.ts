/** Opens a lake as a sink. */
import { openFiles } from "../../net/objects/open.ts";
import { Lake } from "../../lake/lake.ts";
import type { SinkContext } from "../../pipeline/sink.ts";
import type { LakeSinkOptions } from "./options.ts";
import { LakeSink } from "./sink.ts";

export async function openLakeSink(
  name: string,
  address: string,
  options: LakeSinkOptions,
  context: SinkContext,
): Promise<LakeSink> {
  const { rows, roll, memory, series, merge, retention, mirror, format, location } = options;
  const files = await openFiles(address, process.env);
  const lake = new Lake({
    files,
    name: options.name ?? context.hostName,
    version: context.version,
    log: context.log,
    nowMs: () => context.clock.nowMs(),
    ...(context.trustedNowMs !== undefined && { trustedNowMs: context.trustedNowMs }),
    random: context.random,
    merge,
    series,
    format,
    snapshotsMs: options.snapshots,
    ...(location !== undefined && { location }),
    maxRows: rows,
    maxBytes: memory,
    ...(retention === undefined ? {} : { retentionMs: retention }),
    ...(mirror === undefined ? {} : { mirror: await openFiles(mirror, process.env) }),
  });
  await lake.open();
  return new LakeSink(name, lake, roll, context);
}
