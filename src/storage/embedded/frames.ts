/**
 * Appends frames. A layout's series are looked up once; a reading that has disappeared ends its series with a staleness
 * marker, exactly as if it had vanished from a scrape.
 */
import { storedLabels } from "../../formats/samples/labels.ts";
import type { Frame } from "../../model/frame.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import { type Appender, refusedByLimit } from "./append.ts";
import type { AppendResult } from "./options.ts";

interface LayoutRefs {
  /** Generation of the series numbers: after series were dropped, a number may mean another series. */
  readonly generation: number;
  readonly refs: Uint32Array;
  /** 1 for each slot that had a value in the newest frame. */
  readonly present: Uint8Array;
}

/**
 * The origin of a frame: a new layout from the same origin replaces the previous one. In a stream, where frames of
 * several machines and tiers alternate, a frame only affects its own series.
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
  /** Number of layouts after the last cleanup. */
  cleanedSize: number;
}

const streamTier = "stream";
/** The lookback of queries: an older series needs no staleness marker. */
export const lookbackMs = 5 * 60_000;
const fewLayouts = 100;

export class FrameAppender {
  readonly #appender: Appender;
  readonly #generation: () => number;
  readonly #known = new WeakMap<Layout, LayoutRefs>();
  /** By source and tier, the layouts with open series: only the newest, or for a stream all recent ones. */
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

  /** Ends all open series of a source that sends no more frames. */
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

  /** Ends series of the previous layout that have no value in the new frame: missing, or absent as for a lost GPU. */
  #end(before: Layout, frame: Frame, now: LayoutRefs, timeMs: number): void {
    // The states are outdated if this layout has been the newest one before.
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
    // Not cached if a limit rejected series, which are tried again with the next frame.
    if (!refs.includes(refusedByLimit)) this.#known.set(layout, made);
    return made;
  }
}

function isAllPresent(states: Uint8Array, slots: number): boolean {
  if (states.length !== slots) return false;
  for (let slot = 0; slot < slots; slot++) if (states[slot] !== presence.present) return false;
  return true;
}

/** Limits the layouts of a stream that runs for months while machines come and go. */
function dropSilent(place: OpenLayouts, nowMs: number): void {
  const { layouts } = place;
  if (layouts.size <= 2 * place.cleanedSize + fewLayouts) return;
  for (const [layout, { timeMs }] of layouts)
    if (timeMs < nowMs - lookbackMs) layouts.delete(layout);
  place.cleanedSize = layouts.size;
}
