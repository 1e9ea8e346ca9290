/**
 * One block file, open for reading. An unreadable page hides only its own columns, is reported once and may be retried
 * later; a block with a damaged directory cannot be opened. The file is closed after its last reader is done, even if it
 * was deleted in the meantime.
 */
import { closeSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import zlib from "node:zlib";
import { formatError } from "../../../base/error.ts";
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { decodeColumn } from "../codec/decode.ts";
import { mayHoldNaN } from "../codec/encode.ts";
import { decodeSamples } from "../codec/histogram-decode.ts";
import type { ColumnSource, SeriesPieces, Tombstone } from "../column-source.ts";
import { lowerBound } from "../index/postings.ts";
import { decompress } from "./compression.ts";
import {
  type Directory,
  type PageTable,
  parseDirectory,
  parsePageTable,
  parseTimebases,
  type TimebaseTable,
} from "./directory.ts";
import {
  BlockDamagedError,
  blockMagic,
  blockVersion,
  type Footer,
  footerBytes,
  headerBytes,
  readFooter,
  type Section,
} from "./format.ts";
import type { PageCache } from "./page-cache.ts";

/** Number of timebases per block whose timestamps are cached for lookups of single samples. */
const searchedTimebases = 16;

export interface BlockContext {
  readonly cache: PageCache;
  /** Called once for each unreadable page, with the number of columns in it. */
  onUnreadable(block: Block, page: number, columns: number, why: string): void;
}

/** The parsed sections of a block. Large ones are parsed in the worker. */
export interface BlockParts {
  readonly footer: Footer;
  readonly bytes: number;
  readonly directory: Directory;
  readonly timebases: TimebaseTable;
  readonly pages: PageTable;
}

export class Block implements ColumnSource {
  readonly file: string;
  readonly footer: Footer;
  readonly bytes: number;
  readonly directory: Directory;
  readonly #timebases: TimebaseTable;
  readonly #pages: PageTable;
  readonly #context: BlockContext;
  readonly #bad = new Set<number>();
  /** Cached timestamps for lookups of single samples, because late samples mostly arrive in large numbers. */
  readonly #searched = new Map<number, Float64Array>();
  readonly #fd: number;
  #readers = 1;
  #deleteWhenClosed = false;
  /** Deletions that apply to this block, newest last; set by the store. */
  tombstones: readonly Tombstone[] = [];

  constructor(file: string, context: BlockContext, parts?: BlockParts) {
    this.file = file;
    this.#context = context;
    this.#fd = openSync(file, "r");
    if (parts !== undefined) {
      ({ footer: this.footer, bytes: this.bytes, directory: this.directory } = parts);
      [this.#timebases, this.#pages] = [parts.timebases, parts.pages];
      return;
    }
    try {
      this.bytes = fstatSync(this.#fd).size;
      const header = this.#read(0, headerBytes);
      if (header.toString("latin1", 0, 8) !== blockMagic)
        throw new BlockDamagedError("it does not begin as a block does");
      if (header.readUInt32LE(8) !== blockVersion)
        throw new BlockDamagedError(
          `its format is version ${header.readUInt32LE(8)}, not known here`,
        );
      this.footer = readFooter(this.#read(this.bytes - footerBytes, footerBytes));
      const [timebases, directory, pageTable] = this.footer.sections;
      this.#timebases = parseTimebases(this.#section(timebases), this.footer);
      this.directory = parseDirectory(this.#section(directory), this.footer);
      this.#pages = parsePageTable(this.#section(pageTable), this.footer, headerBytes);
    } catch (thrown) {
      closeSync(this.#fd);
      if (thrown instanceof RangeError)
        throw new BlockDamagedError(thrown.message, { cause: thrown });
      throw thrown;
    }
  }

  get id(): number {
    return this.footer.id;
  }

  get parts(): BlockParts {
    const { footer, bytes, directory } = this;
    return { footer, bytes, directory, timebases: this.#timebases, pages: this.#pages };
  }

  /** Index of the series in the directory, searched from an index known to be before it; -1 if it is not there. */
  find(ref: number, from = 0): number {
    const { refs } = this.directory;
    const at = lowerBound(refs, from, refs.length, ref);
    return refs[at] === ref ? at : -1;
  }

  lastTimeMs(entry: number): number {
    return this.#timebases.lastMs[this.directory.timebase[entry] as number] as number;
  }

  /** Adds the series' column if it may hold a sample in the range and is readable. */
  collect(ref: number, fromMs: number, toMs: number, pieces: SeriesPieces): void {
    if (this.footer.minTimeMs > toMs || this.footer.maxTimeMs < fromMs) return;
    const entry = this.find(ref);
    if (entry < 0) return;
    const timebase = this.directory.timebase[entry] as number;
    const first = this.#timebases.firstMs[timebase] as number;
    const last = this.#timebases.lastMs[timebase] as number;
    if (first > toMs || last < fromMs) return;
    const deleted = this.#deleted(ref, first, last);
    if (deleted?.some((one) => one.fromMs <= first && one.toMs >= last) === true) return;
    const page = this.directory.page[entry] as number;
    if (this.#page(page) === undefined) {
      pieces.unreadable.push(`page ${page} of block ${this.id}`);
      return;
    }
    const count = this.#timebases.count[timebase] as number;
    pieces.push(this, entry, timebase, count, first, last, deleted);
  }

  /** True if the series has a column that reaches into the range. Does not read the column. */
  has(ref: number, fromMs: number, toMs: number): boolean {
    if (this.footer.minTimeMs > toMs || this.footer.maxTimeMs < fromMs) return false;
    const entry = this.find(ref);
    if (entry < 0) return false;
    const timebase = this.directory.timebase[entry] as number;
    const first = this.#timebases.firstMs[timebase] as number;
    const last = this.#timebases.lastMs[timebase] as number;
    if (first > toMs || last < fromMs) return false;
    const deleted = this.#deleted(ref, first, last);
    return deleted?.some((one) => one.fromMs <= first && one.toMs >= last) !== true;
  }

  decode(
    entry: number,
    count: number,
    values: Float64Array,
    words: Uint32Array,
    to: number,
    histograms: Histogram[],
  ): boolean {
    const page = this.bytesOf(entry);
    const at = this.offsetOf(entry);
    decodeSamples(page, at, count, values, words, to, histograms, "sent");
    return mayHoldNaN(page[at] as number);
  }

  bytesOf(entry: number): Uint8Array {
    const page = this.#page(this.directory.page[entry] as number);
    if (page === undefined)
      throw new BlockDamagedError(`a page of ${this.file} cannot be read any more`);
    return page;
  }

  offsetOf(entry: number): number {
    return this.directory.offset[entry] as number;
  }

  times(timebase: number, count: number, out: Float64Array, to: number): void {
    const { bytes, at } = this.#timebases;
    const words = new Uint32Array(out.buffer, out.byteOffset, out.length * 2);
    decodeColumn(bytes, at[timebase] as number, count, out, words, to);
  }

  findTime(timebase: number, count: number, timeMs: number): number {
    let times = this.#searched.get(timebase);
    if (times === undefined) {
      if (this.#searched.size >= searchedTimebases) this.#searched.clear();
      times = new Float64Array(count);
      this.times(timebase, count, times, 0);
      this.#searched.set(timebase, times);
    }
    const at = lowerBound(times, 0, count, timeMs);
    return at < count && times[at] === timeMs ? at : -1;
  }

  columnsOf(page: number): number {
    return this.directory.page.reduce((sum, one) => sum + (one === page ? 1 : 0), 0);
  }

  /** Reads a page from the file again; on success its columns are served again. Returns why it fails. */
  recheck(page: number): string | undefined {
    try {
      this.#load(page);
      this.#bad.delete(page);
      return undefined;
    } catch (thrown) {
      this.#bad.add(page);
      return formatError(thrown);
    }
  }

  /** Reads every page and counts the samples; throws if a page cannot be read. */
  countSamples(): number {
    for (let page = 0; page < this.#pages.offset.length; page++) this.#load(page);
    return this.#samples();
  }

  /** As `countSamples`, but only compares the pages' checksums and does not decompress them. */
  countStored(): number {
    for (let page = 0; page < this.#pages.offset.length; page++) this.#stored(page);
    return this.#samples();
  }

  #samples(): number {
    return this.directory.timebase.reduce(
      (sum, timebase) => sum + (this.#timebases.count[timebase] ?? 0),
      0,
    );
  }

  retain(): void {
    this.#readers++;
  }

  release(): void {
    if (--this.#readers > 0) return;
    closeSync(this.#fd);
    this.#context.cache.drop(this.id);
    if (this.#deleteWhenClosed) rmSync(this.file, { force: true });
  }

  /** Closes the block and removes its file once the last reader is done. */
  remove(): void {
    this.#deleteWhenClosed = true;
    this.release();
  }

  #deleted(ref: number, firstMs: number, lastMs: number): readonly Tombstone[] | undefined {
    if (this.tombstones.length === 0) return undefined;
    const found = this.tombstones.filter(({ refs, fromMs, toMs }) => {
      if (fromMs > lastMs || toMs < firstMs) return false;
      return refs[lowerBound(refs, 0, refs.length, ref)] === ref;
    });
    return found.length === 0 ? undefined : found;
  }

  #page(page: number): Uint8Array | undefined {
    if (this.#bad.has(page)) return undefined;
    try {
      return this.#context.cache.get(this.id, page, () => this.#load(page));
    } catch (thrown) {
      this.#bad.add(page);
      this.#context.onUnreadable(this, page, this.columnsOf(page), formatError(thrown));
      return undefined;
    }
  }

  #load(page: number): Uint8Array {
    const { plainBytes, method } = this.#pages;
    return decompress(this.#stored(page), method[page] as number, plainBytes[page] as number);
  }

  #stored(page: number): Uint8Array {
    const { offset, storedBytes, crc } = this.#pages;
    const stored = this.#read(offset[page] as number, storedBytes[page] as number);
    if (zlib.crc32(stored) !== crc[page]) throw new BlockDamagedError("a page's checksum is wrong");
    return stored;
  }

  #section(section: Section): Uint8Array {
    const stored = this.#read(section.offset, section.storedBytes);
    if (zlib.crc32(stored) !== section.crc)
      throw new BlockDamagedError("a section's checksum is wrong");
    return decompress(stored, section.method, section.plainBytes);
  }

  #read(offset: number, length: number): Buffer {
    if (offset < 0 || offset + length > this.bytes) throw new BlockDamagedError("it is cut short");
    const buffer = Buffer.allocUnsafeSlow(length);
    for (let done = 0; done < length;) {
      const read = readSync(this.#fd, buffer, done, length - done, offset + done);
      if (read === 0) throw new BlockDamagedError("it is cut short");
      done += read;
    }
    return buffer;
  }
}
