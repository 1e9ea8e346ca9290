/**
 * Frames as batches for whoever sends samples elsewhere. A layout's labels are encoded once; a reading that was there and is
 * not any more ends its series with a stale marker, exactly as if it had vanished from a scrape. What could not be sent is
 * taken back, so that an end is told again.
 */
import type { Frame } from "../../model/frame.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { SampleBatch } from "./batch.ts";
import { BatchBuilder } from "./builder.ts";
import { storedLabels } from "./series-labels.ts";

/** Where a frame came from: a new layout from the same place replaces the one before. */
export interface FramePlace {
  readonly frame: Frame;
  readonly source: string;
  readonly tier: string;
}

export interface Taken {
  readonly batch: SampleBatch;
  /** The batch was not sent: the ends it held are told with the next one. */
  readonly undo: () => void;
}

interface Known {
  readonly extra: LabelSet;
  readonly blocks: readonly Uint8Array[];
  /** The same as text, to be looked up. */
  readonly keys: readonly string[];
}

interface Place {
  /** Series that had a value with the newest frame, and those whose end was not sent. */
  open: Map<string, Uint8Array>;
}

export class FrameSamples {
  readonly #known = new WeakMap<Layout, Known>();
  readonly #places = new Map<string, Place>();

  take({ frame, source, tier }: FramePlace, extra: LabelSet): Taken {
    const known = this.#of(frame.layout, extra);
    const place = this.#place(`${source}\u0000${tier}`);
    const timeMs = Math.round(frame.timeMs);
    const builder = new BatchBuilder();
    const open = new Map<string, Uint8Array>();
    known.blocks.forEach((block, slot) => {
      if (frame.presence[slot] !== presence.present) return;
      builder.add(builder.rawSeries(block, 0, block.length), timeMs, frame.values[slot] ?? 0);
      open.set(known.keys[slot] ?? "", block);
    });
    const ended = [...place.open].filter(([key]) => !open.has(key));
    for (const [, block] of ended)
      builder.addStale(builder.rawSeries(block, 0, block.length), timeMs);
    place.open = open;
    return { batch: builder.finish(), undo: () => putBack(place, ended) };
  }

  /** Nothing comes from this source any more: what it had last ends. */
  end(source: string, timeMs: number): Taken {
    const builder = new BatchBuilder();
    const undone: (() => void)[] = [];
    for (const [name, place] of this.#places) {
      if (!name.startsWith(`${source}\u0000`)) continue;
      const ended = [...place.open];
      for (const [, block] of ended)
        builder.addStale(builder.rawSeries(block, 0, block.length), Math.round(timeMs));
      this.#places.delete(name);
      undone.push(() => putBack(this.#place(name), ended));
    }
    return { batch: builder.finish(), undo: () => undone.forEach((undo) => undo()) };
  }

  #place(name: string): Place {
    const found = this.#places.get(name);
    if (found !== undefined) return found;
    const made: Place = { open: new Map() };
    this.#places.set(name, made);
    return made;
  }

  #of(layout: Layout, extra: LabelSet): Known {
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

/** What has come back meanwhile has not ended. */
function putBack(place: Place, ended: readonly (readonly [string, Uint8Array])[]): void {
  for (const [key, block] of ended) if (!place.open.has(key)) place.open.set(key, block);
}
