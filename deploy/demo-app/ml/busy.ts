// How busy a GPU was in the last second: spans of work with the share of time in which kernels ran. Time is an argument.

const WINDOW_MS = 1_000;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  readonly share: number;
}

export class BusyWindow {
  #spans: Span[] = [];

  /** Spans must be added in the order of their ends. */
  add(fromMs: number, toMs: number, share: number): void {
    this.#spans.push({ fromMs, toMs, share });
    const oldest = this.#spans[0];
    if (oldest !== undefined && oldest.toMs < toMs - 4 * WINDOW_MS)
      this.#spans = this.#spans.filter((span) => span.toMs >= toMs - WINDOW_MS);
  }

  /** From 0 to 1 over the second before `nowMs`; `current` is work in progress. */
  ratio(nowMs: number, current?: Span): number {
    const since = nowMs - WINDOW_MS;
    const spans = current === undefined ? this.#spans : [...this.#spans, current];
    const busyMs = spans.reduce((sum, { fromMs, toMs, share }) => {
      const overlapMs = Math.min(toMs, nowMs) - Math.max(fromMs, since);
      return overlapMs > 0 ? sum + overlapMs * share : sum;
    }, 0);
    return Math.min(1, busyMs / WINDOW_MS);
  }
}
