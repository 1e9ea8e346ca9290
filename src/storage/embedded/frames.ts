/**
 * Appends frames. A layout's series are looked up once; a reading that has disappeared ends
 * its series with a stale marker, exactly as if it had vanished from a scrape.
 */
import { storedLabels } from "../../formats/samples/labels.ts";
import type { Frame } from "../../model/frame.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import { type Appender, refusedByLimit } from "./append.ts";
import type { AppendResult } from "./options.ts";

interface LayoutRefs {
  /** Series were dropped since: the numbers may mean others. */
  readonly generation: number;
  readonly refs: Uint32Array;
  /** 1 where the newest frame had a value. */
  readonly present: Uint8Array;
}

/**
 * Where a frame came from: a new layout from the same place replaces the one before. Not so in a stream, in which frames of
 * several machines and tiers take turns: there a frame speaks of its own series alone.
 */
export interface FrameOrigin {
  readonly frame: Frame;
  readonly source: string;
  readonly tier: string;
}

interface OpenLayout {
  readonly extra: LabelSet;
  readonly timeMs: number;
}

interface OpenLayouts {
  readonly layouts: Map<Layout, OpenLayout>;
  /** How many there were after the last cleanup. */
  cleanedSize: number;
}

const streamTier = "stream";
/** Queries look back no further: a series this old needs no staleness marker. */
export const lookbackMs = 5 * 60_000;
const fewLayouts = 100;

export class FrameAppender {
  readonly #appender: Appender;
  readonly #generation: () => number;
  readonly #known = new WeakMap<Layout, LayoutRefs>();
  /** By source and tier, the layouts whose series are open: the newest alone, but in a stream all that were seen lately. */
  readonly #open = new Map<string, Map<string, OpenLayouts>>();

  constructor(appender: Appender, generation: () => number) {
    this.#appender = appender;
    this.#generation = generation;
  }

  write({ frame, source, tier }: FrameOrigin, extra: LabelSet, client?: string): AppendResult {
    const appender = this.#appender;
    appender.client = client;
    appender.discard();
    const known = this.#of(frame.layout, extra);
    const places = this.#open.get(source) ?? new Map<string, OpenLayouts>();
    const open = places.get(tier) ?? { layouts: new Map<Layout, OpenLayout>(), cleanedSize: 0 };
    const timeMs = Math.round(frame.timeMs);
    if (tier !== streamTier)
      for (const before of open.layouts.keys())
        if (before !== frame.layout) this.#end(before, frame, known, timeMs);
    const isWhole = isAllPresent(frame.presence, known.refs.length);
    if (isWhole) appender.addColumns(known.refs, timeMs, frame.values);
    else
      for (let slot = 0; slot < known.refs.length; slot++) {
        const ref = known.refs[slot] as number;
        if (frame.presence[slot] === presence.present)
          appender.add(ref, timeMs, frame.values[slot] as number);
        else if (known.present[slot] === 1 && ref !== refusedByLimit)
          appender.addStale(ref, timeMs);
      }
    const result = appender.commit();
    if (isWhole) known.present.fill(1);
    else
      for (let slot = 0; slot < known.refs.length; slot++)
        known.present[slot] = frame.presence[slot] === presence.present ? 1 : 0;
    if (tier === streamTier) dropSilent(open, timeMs);
    else open.layouts.clear();
    open.layouts.set(frame.layout, { extra, timeMs });
    places.set(tier, open);
    this.#open.set(source, places);
    return result;
  }

  /** Nothing comes from this source any more: what it had last ends. */
  endSource(source: string, timeMs: number): AppendResult {
    this.#appender.discard();
    this.#appender.client = undefined;
    const ended = new Set<number>();
    for (const { layouts } of this.#open.get(source)?.values() ?? [])
      for (const [layout, { extra }] of layouts) {
        const known = this.#of(layout, extra);
        known.refs.forEach((ref, slot) => {
          if (known.present[slot] === 1 && ref !== refusedByLimit) ended.add(ref);
        });
        known.present.fill(0);
      }
    this.#open.delete(source);
    for (const ref of ended) this.#appender.addStale(ref, Math.round(timeMs));
    return this.#appender.commit();
  }

  /** Series of the layout before that have no value in the new one's frame: not in it, or absent, as of a GPU that is lost. */
  #end(before: Layout, frame: Frame, now: LayoutRefs, timeMs: number): void {
    // Its presence from an earlier turn as the newest layout is outdated.
    now.present.fill(0);
    const old = this.#known.get(before);
    if (old === undefined || old.generation !== now.generation) return;
    const still = new Set(now.refs.filter((_, slot) => frame.presence[slot] === presence.present));
    for (let slot = 0; slot < old.refs.length; slot++) {
      const ref = old.refs[slot] as number;
      if (old.present[slot] === 1 && !still.has(ref)) this.#appender.addStale(ref, timeMs);
    }
  }

  #of(layout: Layout, extra: LabelSet): LayoutRefs {
    const generation = this.#generation();
    const known = this.#known.get(layout);
    if (known?.generation === generation) return known;
    const refs = Uint32Array.from(layout.series, (series) =>
      this.#appender.ref(storedLabels(series, extra)),
    );
    const made: LayoutRefs = {
      generation,
      refs,
      present: known?.present ?? new Uint8Array(refs.length),
    };
    // Series refused by a limit are tried again with the next frame.
    if (!refs.includes(refusedByLimit)) this.#known.set(layout, made);
    return made;
  }
}

function isAllPresent(states: Uint8Array, slots: number): boolean {
  if (states.length !== slots) return false;
  for (let slot = 0; slot < slots; slot++) if (states[slot] !== presence.present) return false;
  return true;
}

/** A stream may go on for months, and its machines come and go. */
function dropSilent(place: OpenLayouts, nowMs: number): void {
  const { layouts } = place;
  if (layouts.size <= 2 * place.cleanedSize + fewLayouts) return;
  for (const [layout, { timeMs }] of layouts)
    if (timeMs < nowMs - lookbackMs) layouts.delete(layout);
  place.cleanedSize = layouts.size;
}
