/**
 * What a hub knows of a host that it scrapes: the page of the newest frames, written as text and read back as the scrape path
 * reads it. With the names of another exporter only what that exporter reports is left.
 */
import { CompatFrames } from "../src/formats/compat/compat.ts";
import { compatTables } from "../src/formats/compat/tables.ts";
import { ExporterFrames } from "../src/formats/exporters/frames.ts";
import { PageWriter } from "../src/formats/prometheus/page.ts";
import type { Tier } from "../src/model/catalogue/index.ts";
import type { Frame } from "../src/model/frame.ts";
import { identityOf } from "../src/model/identity.ts";
import { tierIntervals } from "../src/pipeline/poller.ts";
import { createDerive } from "../src/pipeline/transforms/derive.ts";
import { ScrapeCache } from "../src/sources/scrape/loop/scrape-cache.ts";
import { scrapeConfig } from "../test/fixtures/sources/scrape.ts";
import { freshMs, type Host, secondMs, startMs } from "./detect-host.ts";

export const scrapedExporters = ["gpulse", "dcgm"] as const;
export type ScrapedExporter = (typeof scrapedExporters)[number];

export interface ScrapeOptions {
  readonly everyMs: number;
  readonly exporter: ScrapedExporter;
}

export class ScrapedHost {
  readonly #host: Host;
  readonly #options: ScrapeOptions;
  readonly #newest = new Map<Tier, Frame>();
  readonly #writer = new PageWriter("text");
  readonly #compat = new CompatFrames([compatTables.dcgm, compatTables.amd]);
  readonly #cache: ScrapeCache;
  readonly #frames = new ExporterFrames();
  readonly #derive = createDerive();

  constructor(host: Host, options: ScrapeOptions) {
    this.#host = host;
    this.#options = options;
    this.#cache = new ScrapeCache(identityOf(host.name));
  }

  /** The frames of a scrape, where there is one at this instant. */
  at(elapsedMs: number): readonly (readonly [Tier, Frame])[] {
    for (const [tier, frame] of this.#host.at(elapsedMs)) this.#newest.set(tier, frame);
    if (elapsedMs % this.#options.everyMs !== 0) return [];
    const timeMs = startMs + elapsedMs;
    const page = this.#writer.write(this.#fresh(timeMs));
    const { error } = this.#cache.takePage(
      Buffer.from(page),
      "text/plain",
      timeMs,
      timeMs,
      scrapeConfig(),
    );
    if (error !== undefined) throw new Error(`BUG: a page that cannot be read: ${error}`);
    return this.#frames
      .frames(this.#cache.finish())
      .map((found) => ["fast", found.isOwn ? found.frame : this.#derived(found.frame)] as const);
  }

  /** As an agent serves them: a frame that is too old is left out. */
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
