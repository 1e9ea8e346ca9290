/**
 * The head's samples between two cuts of the log. The newest epoch accepts samples; an older one is frozen until a block
 * holds it, and is then dropped as a whole, so that a cut costs nothing per series.
 */
import { Arena, type ArenaView } from "./arena.ts";
import { ChunkChains, type ChunkChainsView } from "./chunk-chains.ts";
import { OpenHistograms, type OpenHistogramsView } from "./open-histograms.ts";
import { Timebases, type TimebasesView } from "./timebases.ts";
import type { WalSampleColumns } from "../wal/records.ts";

/** The fields that a worker needs to read an epoch; all of it is shared memory, nothing is copied. */
export interface EpochView {
  readonly arena: ArenaView;
  readonly timebases: TimebasesView;
  readonly histograms: OpenHistogramsView;
  readonly inOrder: ChunkChainsView;
  readonly late: ChunkChainsView | undefined;
}

export class Epoch {
  /** The first log segment with its samples. */
  readonly firstSegment: number;
  readonly #arena = new Arena();
  readonly #timebases = new Timebases();
  readonly #histograms = new OpenHistograms();
  readonly #inOrder = new ChunkChains(this.#arena, this.#timebases, this.#histograms, true);
  #late: ChunkChains | undefined;
  #view: EpochView | undefined;
  samples = 0;
  lateSamples = 0;
  minTimeMs = Infinity;
  maxTimeMs = -Infinity;

  constructor(firstSegment: number) {
    this.firstSegment = firstSegment;
  }

  append(columns: WalSampleColumns, i: number, late: boolean): void {
    if (late) {
      this.#late ??= new ChunkChains(this.#arena, this.#timebases, this.#histograms, false);
      this.#late.append(columns, i);
      this.lateSamples++;
    } else {
      this.#inOrder.append(columns, i);
    }
    this.samples++;
    this.#view = undefined;
    const timeMs = columns.times[i] as number;
    if (timeMs < this.minTimeMs) this.minTimeMs = timeMs;
    if (timeMs > this.maxTimeMs) this.maxTimeMs = timeMs;
  }

  /** Valid until the next append. */
  view(): EpochView {
    this.#view ??= {
      arena: { slabs: this.#arena.slabs },
      timebases: { slabs: this.#timebases.slabs },
      histograms: { slabs: this.#histograms.slabs },
      inOrder: this.#inOrder.view(),
      late: this.#late?.view(),
    };
    return this.#view;
  }

  get byteLength(): number {
    return (
      this.#arena.usedBytes +
      this.#histograms.byteLength +
      this.#inOrder.byteLength +
      (this.#late?.byteLength ?? 0) +
      this.#timebases.count * 256
    );
  }

  /** Number of series with samples in this epoch. */
  get series(): number {
    return this.#inOrder.series;
  }

  get chunks(): number {
    return this.#inOrder.chunks + (this.#late?.chunks ?? 0);
  }

  get timebaseCount(): number {
    return this.#timebases.count;
  }
}
