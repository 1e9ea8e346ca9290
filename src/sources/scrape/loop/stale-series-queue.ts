/**
 * Staleness markers for the series of removed targets. They are written two intervals and a bit later, with the time of the first
 * missed scrape. Series that another loop has continued meanwhile get none, since their target was only reconfigured.
 */
import { formatError } from "../../../base/error.ts";
import type { CachedSeries } from "./scrape-cache.ts";
import type { ScrapeLoop, ScrapeContext } from "./loop.ts";

interface PendingStaleMarkers {
  readonly loop: ScrapeLoop;
  readonly staleMs: number;
  readonly dueMs: number;
}

/** Interval of writing the markers that are due, together, since each check iterates over all running loops. */
const sweepMs = 1_000;

export class StaleSeriesQueue {
  readonly #around: ScrapeContext;
  readonly #running: () => Iterable<ScrapeLoop>;
  #waiting: PendingStaleMarkers[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(around: ScrapeContext, running: () => Iterable<ScrapeLoop>) {
    this.#around = around;
    this.#running = running;
  }

  /** Adds the series of a stopped loop. */
  add(loop: ScrapeLoop): void {
    if (loop.lastMs === undefined) return;
    const { intervalMs } = loop.target;
    const staleMs = loop.nextMs();
    const dueMs = staleMs + intervalMs * 1.1;
    this.#waiting.push({ loop, staleMs, dueMs });
    this.#timer ??= setInterval(() => void this.sweep(this.#around.nowMs()), sweepMs);
  }

  async sweep(nowMs: number): Promise<void> {
    const due = this.#waiting.filter(({ dueMs }) => dueMs <= nowMs);
    if (due.length === 0) return;
    this.#waiting = this.#waiting.filter(({ dueMs }) => dueMs > nowMs);
    if (this.#waiting.length === 0) this.close();
    const takenUp = this.#takenUp(due);
    for (const { loop, staleMs } of due) {
      const ended = [...loop.book.live()].filter((series) => !takenUp.has(series));
      if (ended.length === 0) continue;
      await this.#around.write(loop.book.endings(ended, staleMs)).catch((thrown: unknown) =>
        this.#around.log.warn("staleness markers could not be stored", {
          url: loop.target.url,
          error: formatError(thrown),
        }),
      );
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Of the series that are due, those that also exist in a loop started after theirs had stopped. */
  #takenUp(due: readonly PendingStaleMarkers[]): Set<CachedSeries> {
    const firstMs = Math.min(...due.map(({ loop }) => loop.stoppedMs ?? 0));
    const later = [...this.#running()].filter(
      ({ startedMs, lastMs }) => startedMs >= firstMs && lastMs !== undefined,
    );
    const found = new Set<CachedSeries>();
    if (later.length === 0) return found;
    const byHash = new Map<number, { series: CachedSeries; ending: PendingStaleMarkers }[]>();
    for (const ending of due)
      for (const series of ending.loop.book.live()) {
        const same = byHash.get(series.hash) ?? [];
        same.push({ series, ending });
        byHash.set(series.hash, same);
      }
    for (const { book } of later)
      for (const live of book.live()) {
        const block = byHash.has(live.hash) ? book.labelBlock(live) : undefined;
        for (const { series, ending } of byHash.get(live.hash) ?? [])
          if (
            block !== undefined &&
            Buffer.compare(ending.loop.book.labelBlock(series), block) === 0
          )
            found.add(series);
      }
    return found;
  }
}
