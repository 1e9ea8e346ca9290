/**
 * Converts frames to batches for sinks that send samples. A layout's labels are encoded once; a reading that was present and is now
 * missing ends its series with a staleness marker, exactly as if it had vanished from a scrape. A batch that could not be sent can
 * be undone, so that its staleness markers are sent again.
 */
import type { Frame } from "../../model/frame.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Metadata, SampleBatch } from "./batch.ts";
import { BatchBuilder } from "./builder.ts";
import { storedLabels } from "./labels.ts";
import type { MetricEntry } from "../../model/catalogue/index.ts";

/**
 * The origin of a frame: a new layout from the same origin replaces the previous one. Not so in a stream, where frames of several
 * machines and tiers alternate: there, a frame affects only its own series.
 */
interface FramePlace {
  readonly frame: Frame;
  readonly source: string;
  readonly tier: string;
}

export interface FrameBatch {
  readonly batch: SampleBatch;
  /** Call this if the batch was not sent: its staleness markers go into the next one. */
  readonly undo: () => void;
}

interface EncodedLayout {
  readonly extra: LabelSet;
  readonly blocks: readonly Uint8Array[];
  /** The same blocks as strings, for lookups. */
  readonly keys: readonly string[];
}

interface OpenSeries {
  readonly block: Uint8Array;
  readonly timeMs: number;
}

interface OpenSeriesSet {
  /** Series with a value in their newest frame, and series whose staleness marker was not sent. */
  open: Map<string, OpenSeries>;
  /** For a stream: the number of open series after the last removal of inactive ones. */
  kept: number;
}

/** Queries look back no further: older series need no staleness marker. */
const lookbackMs = 5 * 60_000;

const streamTier = "stream";

export class FrameSamples {
  readonly #known = new WeakMap<Layout, EncodedLayout>();
  readonly #places = new Map<string, OpenSeriesSet>();

  take({ frame, source, tier }: FramePlace, extra: LabelSet): FrameBatch {
    const known = this.#of(frame.layout, extra);
    const place = this.#place(`${source}\u0000${tier}`);
    const timeMs = Math.round(frame.timeMs);
    const builder = new BatchBuilder();
    const isStream = tier === streamTier;
    const open = isStream ? place.open : new Map<string, OpenSeries>();
    known.blocks.forEach((block, slot) => {
      if (frame.presence[slot] !== presence.present) return;
      builder.add(builder.rawSeries(block, 0, block.length), timeMs, frame.values[slot] ?? 0);
      open.set(known.keys[slot] ?? "", { block, timeMs });
    });
    const ended = isStream
      ? openAmong(known.keys, frame, place)
      : [...place.open].filter(([key]) => !open.has(key));
    for (const [key, { block }] of ended) {
      builder.addStale(builder.rawSeries(block, 0, block.length), timeMs);
      open.delete(key);
    }
    place.open = open;
    if (isStream) letGo(place, timeMs);
    return { batch: builder.finish(), undo: () => reopenSeries(place, ended) };
  }

  /** The source has stopped: ends all its series. */
  end(source: string, timeMs: number): FrameBatch {
    const builder = new BatchBuilder();
    const undone: (() => void)[] = [];
    for (const [name, place] of this.#places) {
      if (!name.startsWith(`${source}\u0000`)) continue;
      const ended = [...place.open];
      for (const [, { block }] of ended)
        builder.addStale(builder.rawSeries(block, 0, block.length), Math.round(timeMs));
      this.#places.delete(name);
      undone.push(() => reopenSeries(this.#place(name), ended));
    }
    return { batch: builder.finish(), undo: () => undone.forEach((undo) => undo()) };
  }

  #place(name: string): OpenSeriesSet {
    const found = this.#places.get(name);
    if (found !== undefined) return found;
    const made: OpenSeriesSet = { open: new Map(), kept: 0 };
    this.#places.set(name, made);
    return made;
  }

  #of(layout: Layout, extra: LabelSet): EncodedLayout {
    const found = this.#known.get(layout);
    if (found?.extra === extra) return found;
    const builder = new BatchBuilder();
    for (const series of layout.series) builder.series(storedLabels(series, extra));
    const { bytes, labelStarts, labelEnds } = builder.finish();
    const blocks = layout.series.map((_, at) =>
      bytes.subarray(labelStarts[at] ?? 0, labelEnds[at] ?? 0),
    );
    const keys = blocks.map((block) => Buffer.from(block).toString("latin1"));
    const made = { extra, blocks, keys };
    this.#known.set(layout, made);
    return made;
  }
}

/** Series of the frame without a value in it that had one before. */
function openAmong(
  keys: readonly string[],
  frame: Frame,
  { open }: OpenSeriesSet,
): [string, OpenSeries][] {
  return keys.flatMap((key, slot): [string, OpenSeries][] => {
    const before = frame.presence[slot] === presence.present ? undefined : open.get(key);
    return before === undefined ? [] : [[key, before]];
  });
}

/** A series that has a value again meanwhile has not ended. */
function reopenSeries(
  place: OpenSeriesSet,
  ended: readonly (readonly [string, OpenSeries])[],
): void {
  for (const [key, open] of ended) if (!place.open.has(key)) place.open.set(key, open);
}

/** Removes inactive series: a stream may run for months, and its machines come and go. */
function letGo(place: OpenSeriesSet, nowMs: number): void {
  if (place.open.size <= 2 * place.kept + 1_000) return;
  for (const [key, { timeMs }] of place.open)
    if (timeMs < nowMs - lookbackMs) place.open.delete(key);
  place.kept = place.open.size;
}

/* The catalogue's metadata of a layout's metrics, sent once with every new layout. */

export const metadataOf = ({ name, kind, help, unit }: MetricEntry): Metadata => ({
  family: name,
  type: kind,
  help,
  unit: unit === "none" ? "" : unit,
});

export class LayoutMetadata {
  readonly #sent = new WeakSet<Layout>();

  with(batch: SampleBatch, { layout }: Frame): SampleBatch {
    if (this.#sent.has(layout)) return batch;
    this.#sent.add(layout);
    const metrics = new Set(layout.series.map(({ metric }) => metric));
    return { ...batch, metadata: [...metrics].map(metadataOf) };
  }
}
