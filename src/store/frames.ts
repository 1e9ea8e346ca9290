/**
 * Our own frames on their way in. A layout's series are looked up once; a reading that was there and is not any more ends
 * its series with a stale marker, exactly as if it had vanished from a scrape.
 */
import { storedLabels } from "../formats/samples/series-labels.ts";
import type { Frame } from "../model/frame.ts";
import type { LabelSet } from "../model/labels.ts";
import type { Layout } from "../model/layout.ts";
import { presence } from "../model/presence.ts";
import type { Appender } from "./append.ts";
import { refusedByLimit } from "./append.ts";
import type { AppendResult } from "./options.ts";

interface Known {
  /** Series were dropped since: the numbers may mean others. */
  readonly generation: number;
  readonly refs: Uint32Array;
  /** 1 where the newest frame had a value. */
  readonly present: Uint8Array;
}

/** Where a frame came from: a new layout from the same place replaces the one before. */
export interface FrameOrigin {
  readonly frame: Frame;
  readonly source: string;
  readonly tier: string;
}

export class FrameWriter {
  readonly #appender: Appender;
  readonly #generation: () => number;
  readonly #known = new WeakMap<Layout, Known>();
  readonly #newest = new Map<string, { readonly layout: Layout; readonly extra: LabelSet }>();

  constructor(appender: Appender, generation: () => number) {
    this.#appender = appender;
    this.#generation = generation;
  }

  write({ frame, source, tier }: FrameOrigin, extra: LabelSet): AppendResult {
    const appender = this.#appender;
    appender.discard();
    const known = this.#of(frame.layout, extra);
    const place = `${source}\u0000${tier}`;
    const before = this.#newest.get(place)?.layout;
    const timeMs = Math.round(frame.timeMs);
    if (before !== undefined && before !== frame.layout) this.#end(before, known, timeMs);
    for (let slot = 0; slot < known.refs.length; slot++) {
      const ref = known.refs[slot] as number;
      const there = frame.presence[slot] === presence.present;
      if (there) appender.add(ref, timeMs, frame.values[slot] as number);
      else if (known.present[slot] === 1 && ref !== refusedByLimit) appender.addStale(ref, timeMs);
    }
    const result = appender.commit();
    for (let slot = 0; slot < known.refs.length; slot++)
      known.present[slot] = frame.presence[slot] === presence.present ? 1 : 0;
    this.#newest.set(place, { layout: frame.layout, extra });
    return result;
  }

  /** Nothing comes from this source any more: what it had last ends. */
  endSource(source: string, timeMs: number): AppendResult {
    this.#appender.discard();
    for (const [place, { layout, extra }] of this.#newest) {
      if (!place.startsWith(`${source}\u0000`)) continue;
      const known = this.#of(layout, extra);
      known.refs.forEach((ref, slot) => {
        if (known.present[slot] === 1 && ref !== refusedByLimit)
          this.#appender.addStale(ref, Math.round(timeMs));
      });
      known.present.fill(0);
      this.#newest.delete(place);
    }
    return this.#appender.commit();
  }

  /** Series of the layout before that the new one does not have. */
  #end(before: Layout, now: Known, timeMs: number): void {
    const old = this.#known.get(before);
    if (old === undefined || old.generation !== now.generation) return;
    const still = new Set(now.refs);
    for (let slot = 0; slot < old.refs.length; slot++) {
      const ref = old.refs[slot] as number;
      if (old.present[slot] === 1 && !still.has(ref)) this.#appender.addStale(ref, timeMs);
    }
  }

  #of(layout: Layout, extra: LabelSet): Known {
    const generation = this.#generation();
    const known = this.#known.get(layout);
    if (known?.generation === generation) return known;
    const refs = Uint32Array.from(layout.series, (series) =>
      this.#appender.ref(storedLabels(series, extra)),
    );
    const made: Known = {
      generation,
      refs,
      present: known?.present ?? new Uint8Array(refs.length),
    };
    // What was refused for want of room is asked for again with the next frame.
    if (!refs.includes(refusedByLimit)) this.#known.set(layout, made);
    return made;
  }
}
