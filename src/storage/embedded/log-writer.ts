/** Turns a commit into one log write: the new series, then the samples. */
import type { LabelSet } from "../../model/labels.ts";
import { frameBytes, framedBytes, sealFrame } from "../../base/state/record.ts";
import { Bytes } from "./slab/bytes.ts";
import type { WriteAheadLog } from "./wal/log.ts";
import {
  noHistograms,
  samplesBound,
  seriesBound,
  type WalSampleColumns,
  writeHistograms,
  writeSamples,
  writeSeries,
} from "./wal/records.ts";

export class LogWriter {
  readonly #wal: WriteAheadLog;
  readonly #seriesLogged: () => void;
  #buffer = Buffer.allocUnsafeSlow(65_536);
  readonly #histograms = new Bytes();
  /** Series that are not in the log yet. They stay here until a write succeeds. */
  #newRefs: number[] = [];
  #newLabels: LabelSet[] = [];

  /** @param seriesLogged called after each write that contains new series */
  constructor(wal: WriteAheadLog, seriesLogged: () => void) {
    this.#wal = wal;
    this.#seriesLogged = seriesLogged;
  }

  created(ref: number, labels: LabelSet): void {
    this.#newRefs.push(ref);
    this.#newLabels.push(labels);
  }

  /** The only place where native histograms are encoded: `encoded` of the columns is valid until the next write. */
  write(columns: WalSampleColumns): void {
    const refs = this.#newRefs;
    const histograms = this.#histograms;
    histograms.length = 0;
    columns.encoded =
      columns.histograms.length > 0
        ? writeHistograms(histograms, columns.histograms)
        : noHistograms;
    const most =
      framedBytes(samplesBound(columns.n) + histograms.length) +
      (refs.length === 0 ? 0 : framedBytes(seriesBound(this.#newLabels)));
    if (this.#buffer.length < most)
      this.#buffer = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(most)));
    let [end, records] = [0, 0];
    if (refs.length > 0) {
      const length = writeSeries(this.#buffer, frameBytes, refs, this.#newLabels);
      end = sealFrame(this.#buffer, 0, length, this.#wal.sequence);
      records++;
    }
    const length = writeSamples(
      this.#buffer,
      end + frameBytes,
      columns,
      this.#wal.samples,
      histograms.used,
    );
    end = sealFrame(this.#buffer, end, length, (this.#wal.sequence + records) >>> 0);
    this.#wal.append(this.#buffer, end, records + 1, columns.n);
    if (refs.length === 0) return;
    [this.#newRefs, this.#newLabels] = [[], []];
    this.#seriesLogged();
  }
}
