/**
 * A hub's view of a host that it scrapes: the page of the newest frames, formatted and parsed again like a real scrape. With
 * another exporter's names only that exporter's fields are left, and nothing while the driver hangs: it waits for the driver, and
 * its scrapes time out.
 */
import { CompatFrames } from "../src/formats/compat/compat.ts";
import { ExporterFrames } from "../src/formats/exporters/frames.ts";
import { PageWriter } from "../src/formats/prometheus/page.ts";
import type { Tier } from "../src/model/catalogue/index.ts";
import type { Frame } from "../src/model/frame.ts";
import { identityOf } from "../src/model/identity.ts";
import { labelSet, type LabelSet } from "../src/model/labels.ts";
import { tierIntervals } from "../src/pipeline/poller.ts";
import { createDerive } from "../src/pipeline/transforms/derive.ts";
import { ScrapeCache } from "../src/sources/scrape/loop/scrape-cache.ts";
import { scrapeConfig } from "../test/fixtures/sources/scrape.ts";
import { type ScrapedExporter, tablesOf } from "./detect-fields.ts";
import { freshMs, type Host, secondMs, startMs } from "./detect-host.ts";

export interface ScrapeOptions {
  readonly everyMs: number;
  readonly exporter: ScrapedExporter;
}

/** A frame with its schedule and its exporter: each of a host's exporters is a separate source. */
export type ScrapedFrame = readonly [tier: Tier, frame: Frame, exporter?: string];

export class ScrapedHost {
  /** `job` and `instance` of its series. */
  readonly identity: LabelSet;
  /** True if the scrape of this instant succeeded; undefined if there was none. */
  up: boolean | undefined;
  readonly #host: Host;
  readonly #options: ScrapeOptions;
  readonly #newest = new Map<Tier, Frame>();
  readonly #writer = new PageWriter("text");
  readonly #compat: CompatFrames;
  readonly #cache: ScrapeCache;
  readonly #frames = new ExporterFrames();
  readonly #derive = createDerive();

  constructor(host: Host, options: ScrapeOptions) {
    const { exporter } = options;
    this.#host = host;
    this.#options = options;
    this.identity =
      exporter === "gpulse"
        ? identityOf(host.name)
        : labelSet({ job: "dcgm-exporter", instance: `${host.name}:9400` });
    this.#compat = new CompatFrames(exporter === "gpulse" ? [] : tablesOf(exporter));
    this.#cache = new ScrapeCache(this.identity);
  }

  /** The frames of a scrape, if one is due at this instant. */
  at(elapsedMs: number): readonly ScrapedFrame[] {
    for (const [tier, frame] of this.#host.at(elapsedMs)) this.#newest.set(tier, frame);
    this.up = undefined;
    if (elapsedMs % this.#options.everyMs !== 0) return [];
    const timeMs = startMs + elapsedMs;
    const isOwn = this.#options.exporter === "gpulse";
    this.up = isOwn || this.#host.fleet.hangsForMs(elapsedMs) === 0;
    if (this.up) this.#takePage(timeMs);
    else this.#cache.endAll(timeMs);
    return this.#frames
      .frames(this.#cache.finish())
      .map((found) => [
        "fast",
        found.isOwn ? found.frame : this.#derived(found.frame),
        found.exporter,
      ]);
  }

  #takePage(timeMs: number): void {
    const page = this.#writer.write(this.#fresh(timeMs));
    const body = Buffer.from(page);
    const { error } = this.#cache.takePage(body, "text/plain", timeMs, timeMs, scrapeConfig());
    if (error !== undefined) throw new Error(`BUG: a page that cannot be read: ${error}`);
  }

  /** As in an agent, frames that are too old are omitted. */
  #fresh(timeMs: number): readonly Frame[] {
    const every = tierIntervals(secondMs);
    const fresh = [...this.#newest].filter(
      ([tier, frame]) => timeMs - frame.timeMs <= Math.max(freshMs, 3 * every[tier]),
    );
    const { devices } = this.#host.fleet;
    if (this.#options.exporter === "gpulse") return fresh.map(([, frame]) => frame);
    return this.#compat.of(fresh.map(([, frame]) => ({ frame, devices })));
  }

  #derived(frame: Frame): Frame {
    const { devices } = this.#host.fleet;
    return this.#derive({ frame, source: "scrape", tier: "fast", freshForMs: 90_000, devices })
      .frame;
  }
}
