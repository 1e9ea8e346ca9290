/** Pushes frames and the agent's self-metrics to hubs, with one sink per hub. Loaded only if a hub is configured. */
import type { CommandIo } from "../cli/command/io.ts";
import { sinkContext } from "../cli/command/sink-context.ts";
import type { Settings } from "../cli/command/settings.ts";
import type { Log } from "../base/log.ts";
import type { Delivery, Sink } from "../pipeline/sink.ts";
import { openHubSink } from "../sinks/hub/open.ts";
import type { Collector } from "./collector.ts";

export interface Push {
  readonly sinks: readonly Sink[];
  /** Starts pushing the agent's self-metrics. */
  start(collector: Collector): void;
  stop(): void;
}

/** The self-metrics are pushed as often as a scrape would read them, but not more often than the GPUs are read. */
const leastOwnMs = 15_000;
const scrapedPort = 9400;

export function openPush(settings: Settings, io: CommandIo, log: Log): Push {
  const { push, hostName, intervalMs, listen } = settings;
  const instance = push.instance ?? `${hostName}:${listen.port === 0 ? scrapedPort : listen.port}`;
  const sinks = push.hubs.map((hub) =>
    openHubSink(
      {
        ...hub,
        intervalMs,
        spoolMaxBytes: push.spoolMaxBytes,
        spoolAgeMs: push.spoolAgeMs,
      },
      {
        ...sinkContext(settings, io, log),
        spoolDir: push.spoolDir,
        identity: { job: push.job, instance },
      },
    ),
  );
  log.info("pushing", { to: sinks.map(({ name }) => name).join(", "), as: instance });
  const everyMs = Math.max(leastOwnMs, intervalMs);
  let timer: NodeJS.Timeout | undefined;
  return {
    sinks,
    start: (collector) => {
      const pushOwn = (): void => {
        const own: Delivery = {
          frame: collector.selfFrame(),
          source: "self",
          tier: "slow",
          freshForMs: 3 * everyMs,
          devices: [],
        };
        for (const sink of sinks) void sink.write(own);
      };
      timer = setInterval(pushOwn, everyMs);
    },
    stop: () => clearInterval(timer),
  };
}
