/** Writes one block file, column by column. The file gets its final name only once it is complete and on disk. */
import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { removeLeftover, syncFolder } from "../../../base/state/atomic.ts";
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { encodedBound, encodeColumn, encodeWholes, notWhole } from "../codec/encode.ts";
import { encodeHistograms, histogramIn } from "../codec/histogram-encode.ts";
import { zigzag } from "../codec/varint.ts";
import { mix } from "../index/hash.ts";
import type { ColumnBuffer } from "../merge.ts";
import { Bytes } from "../slab/bytes.ts";
import { compress, fastQuality } from "./compression.ts";
import {
  footerBytes,
  headerBytes,
  pageBytes,
  type Section,
  writeFooter,
  writeHeader,
} from "./format.ts";

export interface WrittenBlock {
  readonly bytes: number;
  readonly samples: number;
  readonly series: number;
  readonly minTimeMs: number;
  readonly maxTimeMs: number;
}

/** Only raw samples may include native histograms. */
type WrittenColumn = Pick<ColumnBuffer, "values" | "words" | "n" | "histograms">;

interface WrittenTimebase {
  readonly index: number;
  readonly times: Float64Array;
}

export class BlockWriter {
  readonly #file: string;
  readonly #isBrief: boolean;
  #fd: number;
  readonly #page = new Bytes();
  readonly #timebases = new Bytes();
  readonly #columns = new Bytes();
  readonly #perPage: number[] = [];
  readonly #table = new Bytes();
  /** Timebases by the hash of their timestamps: equal ones are stored once, whatever their source. */
  readonly #known = new Map<number, WrittenTimebase[]>();
  /** The last two: consecutive series mostly have the same timestamps, and a rollup those of first and last samples. */
  #recent: readonly WrittenTimebase[] = [];
  #pageColumns = 0;
  #offset = headerBytes;
  #timebaseCount = 0;
  #lastRef = 0;
  #lastTimebase = 0;
  #series = 0;
  #samples = 0;
  #minTimeMs = Infinity;
  #maxTimeMs = -Infinity;

  /** @param isBrief true to write fast instead of small */
  constructor(file: string, isBrief = false) {
    this.#file = file;
    this.#isBrief = isBrief;
    this.#fd = openSync(`${file}.tmp`, "w", 0o600);
    try {
      writeAll(this.#fd, writeHeader(), 0);
    } catch (thrown) {
      this.abandon();
      throw thrown;
    }
  }

  /** Index of the timebase with these timestamps in this block. */
  timebase(times: Float64Array, n: number): number {
    for (const recent of this.#recent) if (sameTimes(recent.times, times, n)) return recent.index;
    let hash = n;
    for (let i = 0; i < n; i++) {
      const time = times[i] as number;
      hash = mix(mix(hash, time >>> 0), Math.floor(time / 4294967296));
    }
    const alike = this.#known.get(hash);
    const found = alike?.find((one) => sameTimes(one.times, times, n));
    if (found !== undefined) return this.#remember(found);
    const added = { index: this.#timebaseCount++, times: times.slice(0, n) };
    if (alike === undefined) this.#known.set(hash, [added]);
    else alike.push(added);
    this.#writeTimebase(added.times);
    return this.#remember(added);
  }

  /** @param exponent for whole numbers, which are the values times 10^exponent */
  column(
    ref: number,
    timebase: number,
    { values, words, n, histograms }: WrittenColumn,
    exponent = notWhole,
  ): void {
    const page = this.#page;
    const from = page.length;
    if (hasHistogram(words, n, histograms)) encodeHistograms(words, 0, n, histograms, page, true);
    else {
      page.reserve(encodedBound(n));
      const thorough = !this.#isBrief;
      page.length =
        exponent === notWhole
          ? encodeColumn(values, words, 0, n, page.array, from, thorough)
          : encodeWholes(values, exponent, n, page.array, from, thorough);
    }
    this.#columns.varint(zigzag(ref - this.#lastRef));
    this.#columns.varint(zigzag(timebase - this.#lastTimebase));
    this.#columns.varint(this.#page.length - from);
    [this.#lastRef, this.#lastTimebase] = [ref, timebase];
    this.#series++;
    this.#samples += n;
    this.#pageColumns++;
    if (this.#page.length >= pageBytes) this.#flushPage();
  }

  finish(id: number, level: number): WrittenBlock {
    if (this.#pageColumns > 0) this.#flushPage();
    const timebases = this.#section(this.#timebases.used);
    const directory = new Bytes();
    for (const columns of this.#perPage) directory.varint(columns);
    directory.reserve(this.#columns.length);
    directory.array.set(this.#columns.used, directory.length);
    directory.length += this.#columns.length;
    const directorySection = this.#section(directory.used);
    const pageTable = this.#section(this.#table.used);
    const summary = {
      samples: this.#samples,
      series: this.#series,
      minTimeMs: this.#minTimeMs,
      maxTimeMs: this.#maxTimeMs,
    };
    writeAll(
      this.#fd,
      writeFooter({
        id,
        level,
        ...summary,
        pages: this.#perPage.length,
        timebases: this.#timebaseCount,
        sections: [timebases, directorySection, pageTable],
      }),
      this.#offset,
    );
    fsyncSync(this.#fd);
    this.#close();
    renameSync(`${this.#file}.tmp`, this.#file);
    syncFolder(path.dirname(this.#file));
    return { ...summary, bytes: this.#offset + footerBytes };
  }

  /** May also be called after a failed `finish`. */
  abandon(): void {
    this.#close();
    for (const file of [`${this.#file}.tmp`, this.#file]) removeLeftover(file);
  }

  /** Closes at most once, because the file descriptor may already be reused by the second time. */
  #close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #remember(timebase: WrittenTimebase): number {
    this.#recent = [timebase, ...this.#recent.slice(0, 1)];
    return timebase.index;
  }

  #writeTimebase(times: Float64Array): void {
    const n = times.length;
    const [first, last] = [times[0] as number, times[n - 1] as number];
    this.#minTimeMs = Math.min(this.#minTimeMs, first);
    this.#maxTimeMs = Math.max(this.#maxTimeMs, last);
    const scratch = new Uint8Array(encodedBound(n));
    const length = encodeColumn(times, new Uint32Array(times.buffer), 0, n, scratch, 0, true);
    for (const value of [n, first, last - first, length]) this.#timebases.varint(value);
    this.#timebases.reserve(length);
    this.#timebases.array.set(scratch.subarray(0, length), this.#timebases.length);
    this.#timebases.length += length;
  }

  #flushPage(): void {
    const { method, bytes } = compress(this.#page.used, this.#isBrief ? fastQuality : undefined);
    writeAll(this.#fd, bytes, this.#offset);
    this.#offset += bytes.length;
    this.#table.varint(method);
    this.#table.varint(bytes.length);
    this.#table.varint(this.#page.length);
    this.#table.reserve(4);
    Buffer.from(this.#table.array.buffer).writeUInt32LE(zlib.crc32(bytes), this.#table.length);
    this.#table.length += 4;
    this.#perPage.push(this.#pageColumns);
    this.#page.length = 0;
    this.#pageColumns = 0;
  }

  #section(plain: Uint8Array): Section {
    const { method, bytes } = compress(plain);
    const offset = this.#offset;
    writeAll(this.#fd, bytes, offset);
    this.#offset += bytes.length;
    return {
      offset,
      storedBytes: bytes.length,
      plainBytes: plain.length,
      crc: zlib.crc32(bytes),
      method,
    };
  }
}

/** The list may contain only histograms of samples that were dropped. */
function hasHistogram(words: Uint32Array, n: number, histograms: readonly Histogram[]): boolean {
  if (histograms.length === 0) return false;
  for (let i = 0; i < n; i++) if (histogramIn(words, i, histograms) !== undefined) return true;
  return false;
}

function sameTimes(a: Float64Array, b: Float64Array, n: number): boolean {
  if (a.length !== n) return false;
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** A write may be partial, for example on a nearly full disk. */
export function writeAll(fd: number, bytes: Uint8Array, offset: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(fd, bytes, done, bytes.length - done, offset + done);
}
