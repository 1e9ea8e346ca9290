/** Limits log lines to a few per kind and minute, in bounded memory. */
const linesOfKind = 5;
const maxKinds = 1_000;

export class LogThrottle {
  #minute = 0;
  readonly #counts = new Map<string, number>();

  /** Fields to add to the line; undefined if the line is suppressed. */
  take(kind: string, nowMs: number): { readonly more?: string } | undefined {
    const minute = Math.floor(nowMs / 60_000);
    if (minute !== this.#minute) this.#counts.clear();
    this.#minute = minute;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    if (count === 1 && this.#counts.size >= maxKinds) return undefined;
    this.#counts.set(kind, count);
    if (count > linesOfKind) return undefined;
    return count === linesOfKind ? { more: "more of this kind in this minute are not logged" } : {};
  }
}
