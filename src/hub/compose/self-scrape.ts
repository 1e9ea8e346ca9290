/** Writes the hub's own metrics and `up` every 15 s, as a scrape of this process would. */
import type { Collector } from "../../agent/collector.ts";
import { type LabelSet, labelSet, labelValue } from "../../model/labels.ts";
import type { SampleWriter } from "../../storage/history.ts";
import { type UpValue, upBatch } from "../agents/up.ts";
import type { Log } from "../../base/log.ts";
import { formatError } from "../../base/error.ts";

const everyMs = 15_000;

export interface SelfScrapeOptions {
  readonly writer: SampleWriter;
  readonly host: string;
  readonly log: Log;
}

interface SelfScrape {
  close(): Promise<void>;
}

/** Writes the hub's own metrics, with their `up`. */
export function startSelfScrape(collector: Collector, options: SelfScrapeOptions): SelfScrape {
  const { writer, host } = options;
  const labels = labelSet({ job: "gpulse-hub", instance: `${host}:9410` });
  const up = startUpSeries(labels, options);
  const frames = repeat(options, async () => {
    const frame = collector.selfFrame();
    await writer.writeFrame({ frame, source: "self", tier: "self" }, labels);
  });
  return {
    close: async () => {
      frames.close();
      await up.close();
    },
  };
}

/** Writes `up` of this process under the identity of its series: 1 while it runs, stale once it stops, like a removed target. */
export function startUpSeries(identity: LabelSet, options: SelfScrapeOptions): SelfScrape {
  const target = {
    job: labelValue(identity, "job") ?? "",
    instance: labelValue(identity, "instance") ?? "",
  };
  const write = async (value: UpValue): Promise<void> =>
    void (await options.writer.write(upBatch([[target, value]], Date.now())));
  const timer = repeat(options, () => write(1));
  return {
    close: async () => {
      timer.close();
      await write("stale").catch(() => undefined);
    },
  };
}

function repeat({ log }: SelfScrapeOptions, write: () => Promise<void>): { close(): void } {
  const once = (): void =>
    void write().catch((thrown: unknown) =>
      log.warn("storing the hub's own metrics failed", { error: formatError(thrown) }),
    );
  once();
  const timer = setInterval(once, everyMs);
  return { close: () => clearInterval(timer) };
}
