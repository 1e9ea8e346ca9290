/** The sinks a hub forwards to: `--to` and the `remote_write` section of a prometheus.yml. */
import type { CommandIo } from "../../cli/command/io.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { sinkContext } from "../../cli/command/sink-context.ts";
import { GpulseError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import { shippingMetrics } from "../../pipeline/self.ts";
import type { Sink } from "../../pipeline/sink.ts";
import type { PrometheusConfig } from "../../sources/scrape/config/types.ts";
import { openSink } from "../../sinks/open.ts";

export interface HubSinks {
  /** Sinks that receive only this machine's frames: the collector drives and closes them. */
  readonly frameSinks: readonly Sink[];
  /** Sinks that get everything storage accepts. */
  readonly sampleSinks: readonly Sink[];
  readonly selfMetrics: CollectMetrics;
  close(): Promise<void>;
}

export async function openHubSinks(
  settings: Settings,
  readsGpus: boolean,
  io: CommandIo,
  log: Log,
  prometheus?: Pick<PrometheusConfig, "remoteWrite" | "global">,
): Promise<HubSinks> {
  const context = { ...sinkContext(settings, io, log), isHub: true };
  const sinks: Sink[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(sinks.filter(takesSamples).map(async (sink) => sink.close()));
  };
  try {
    for (const spec of settings.to) {
      const sink = await openSink(spec, context);
      sinks.push(sink);
      if (!takesSamples(sink) && !readsGpus)
        throw new GpulseError(
          "USAGE",
          `"${sink.name}" takes the frames of GPUs that are read here, and a hub reads none: send with remote-write+http://… or hub+http://…`,
        );
    }
    for (const config of prometheus?.remoteWrite ?? []) {
      const { openConfiguredRemoteWrite } = await import("../../sinks/remote-write/open.ts");
      const labels = prometheus?.global.externalLabels ?? [];
      sinks.push(openConfiguredRemoteWrite(config, labels, context));
    }
  } catch (thrown) {
    await close();
    throw thrown;
  }
  if (sinks.length > 0) log.info("sending", { to: sinks.map(({ name }) => name).join(", ") });
  const sampleSinks = sinks.filter(takesSamples);
  return {
    frameSinks: sinks.filter((sink) => !takesSamples(sink)),
    sampleSinks,
    selfMetrics: shippingMetrics(sampleSinks),
    close,
  };
}

const takesSamples = (sink: Sink): boolean => sink.samples !== undefined;
