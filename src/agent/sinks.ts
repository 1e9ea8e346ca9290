/** Opens the agent's sinks of `--to`. Loaded only if a sink is configured. */
import type { CommandIo } from "../cli/command/io.ts";
import type { Settings } from "../cli/command/settings.ts";
import { sinkContext } from "../cli/command/sink-context.ts";
import type { Log } from "../base/log.ts";
import type { CollectMetrics } from "../model/self-frames.ts";
import { labelSet } from "../model/labels.ts";
import { shippingMetrics } from "../pipeline/self.ts";
import type { Sink } from "../pipeline/sink.ts";
import { openSink } from "../sinks/open.ts";

export interface AgentSinks {
  readonly sinks: readonly Sink[];
  readonly selfMetrics: CollectMetrics;
}

const scrapedPort = 9400;

export async function openAgentSinks(
  settings: Settings,
  io: CommandIo,
  log: Log,
  others: readonly Sink[],
): Promise<AgentSinks> {
  const { push, hostName, listen } = settings;
  const instance = push.instance ?? `${hostName}:${listen.port === 0 ? scrapedPort : listen.port}`;
  const context = {
    ...sinkContext(settings, io, log, push.spoolDir),
    identity: labelSet({ job: push.job, instance }),
  };
  const sinks: Sink[] = [];
  try {
    for (const spec of settings.to) sinks.push(await openSink(spec, context));
  } catch (thrown) {
    for (const sink of sinks) await sink.close();
    throw thrown;
  }
  if (sinks.length > 0) log.info("sending", { to: sinks.map(({ name }) => name).join(", ") });
  return { sinks, selfMetrics: shippingMetrics([...others, ...sinks]) };
}
