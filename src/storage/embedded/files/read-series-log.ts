/**
 * Reads the series log. A number may be reused after its first series is dropped, so a missing record could have changed
 * the meaning of any number. Its copy in the check file lists its series numbers: those are dropped, the others are
 * certain. A record missing in both files makes every earlier number uncertain, and none of those series is served: a
 * missing series is better than one with wrong labels.
 */
import zlib from "node:zlib";
import { formatError, systemCode } from "../../../base/error.ts";
import { scanFrames, type ScannedRecord } from "../../../base/state/record.ts";
import { salvageFile, type SalvagedFile } from "../../../base/state/salvage.ts";
import { readVarint, unzigzag } from "../codec/varint.ts";
import type { Label } from "../../../model/labels.ts";
import type { LabelIndex } from "../index/index.ts";
import { OldSeriesRecords } from "./old-series-log.ts";
import {
  checkFile,
  SeriesLog,
  type SeriesLogEnd,
  type SeriesLogOptions,
  typeHeader,
} from "./series-log.ts";
import { readSeriesRecord, typeDropped, typeSeries, typeTextSeries } from "./series-record.ts";

export interface LoadedSeries {
  readonly log: SeriesLog;
  readonly lost: readonly string[];
  /** Series whose labels are lost or uncertain. */
  readonly lostSeries: number;
  /** True for a file that is damaged or in an older format, and has to be rewritten as N + 1. */
  readonly isToBeRewritten: boolean;
  /** True if some of its bytes are not a record; the file is then set aside instead of removed. */
  readonly isDamaged: boolean;
}

/**
 * Fills an empty index from the file, if it exists, and opens it for appending. `minRecords`: the manifest's minimum
 * number of records.
 */
export function openSeriesLog(
  options: SeriesLogOptions,
  index: LabelIndex,
  minRecords: number,
): LoadedSeries {
  const { file } = options;
  const log = scanFile(file);
  const check = scanFile(checkFile(file));
  if (log.bytes === 0 && check.bytes === 0 && minRecords === 0)
    return {
      log: new SeriesLog(options),
      lost: [],
      lostSeries: 0,
      isToBeRewritten: false,
      isDamaged: false,
    };
  const loader = new Loader(options, index, log, check, minRecords);
  const end = index.load(() => loader.load());
  return { log: new SeriesLog(options, end, minRecords), ...loader.result() };
}

class Loader {
  readonly #options: SeriesLogOptions;
  readonly #index: LabelIndex;
  readonly #log: ScannedFile;
  readonly #check: ScannedFile;
  readonly #minRecords: number;
  readonly #old: OldSeriesRecords;
  readonly #lost: string[] = [];
  /** Records that are missing in both files, or only in the log. */
  #missing = 0;
  #missingTwins = 0;
  #uncertain = 0;
  #lostSeries = 0;
  #isOld = false;
  #isUneven = false;

  constructor(
    options: SeriesLogOptions,
    index: LabelIndex,
    log: ScannedFile,
    check: ScannedFile,
    minRecords: number,
  ) {
    this.#options = options;
    this.#index = index;
    this.#log = log;
    this.#check = check;
    this.#minRecords = minRecords;
    this.#old = new OldSeriesRecords(index, log.bytes);
  }

  load(): SeriesLogEnd {
    this.#refuseForeign();
    const [log, check] = [this.#log.records, this.#check.records];
    this.#isOld = this.#check.bytes === 0 && this.#minRecords === 0 && !isTextLog(log);
    const sequences = [...new Set([...log.keys(), ...check.keys()])].sort((a, b) => a - b);
    let next = 0;
    for (const sequence of sequences) {
      if (sequence > next) this.#missingInBoth(next, sequence);
      this.#apply(sequence, log.get(sequence), readTwin(check.get(sequence)));
      next = sequence + 1;
    }
    if (next < this.#minRecords) this.#missingInBoth(next, this.#minRecords);
    this.#report();
    return { log: this.#log.end, check: this.#check.end, sequence: next };
  }

  result(): Omit<LoadedSeries, "log"> {
    return {
      lost: this.#lost,
      lostSeries: this.#lostSeries + this.#old.lostSeries,
      isToBeRewritten: this.#isOld || this.#isUneven || this.#lost.length > 0,
      isDamaged: this.#lost.length > 0 || this.#log.isDamaged,
    };
  }

  #refuseForeign(): void {
    const { file, storeId, number } = this.#options;
    const header = readHeader(this.#log.records.get(0));
    if (header === undefined || (header.storeId === storeId && header.number === number)) return;
    this.#lost.push(
      header.storeId === storeId
        ? `${file} is a copy of series-${header.number}.log: it is not read`
        : `${file} belongs to another store: it is not read`,
    );
    this.#log.records.clear();
  }

  #apply(sequence: number, record: ScannedRecord | undefined, twin: Twin | undefined): void {
    const differs =
      record !== undefined && twin !== undefined && twin.crc !== zlib.crc32(record.payload);
    if (record === undefined || twin === undefined) this.#isUneven = true;
    if (record !== undefined && !differs) {
      if (twin === undefined && !this.#isOld) this.#missingTwins++;
      try {
        return this.#read(record.payload);
      } catch (thrown) {
        if (!(thrown instanceof RangeError)) throw thrown;
        this.#lost.push(
          `record ${sequence} of ${this.#options.file} cannot be read, series are lost: ${formatError(thrown)}`,
        );
      }
    }
    if (twin === undefined || differs) return this.#missingInBoth(sequence, sequence + 1);
    for (const ref of twin.refs) {
      this.#index.table.reserve(ref + 1);
      if (this.#index.table.isAlive(ref)) this.#index.drop(ref);
    }
    // Series beyond the manifest's minimum are still in the write-ahead log.
    if (sequence >= this.#minRecords) return;
    this.#missing++;
    this.#lostSeries += twin.refs.length;
  }

  #missingInBoth(from: number, to: number): void {
    this.#isUneven = true;
    if (this.#isOld) {
      this.#missing += to - from;
      return;
    }
    if (from >= this.#minRecords) return;
    this.#missing += Math.min(to, this.#minRecords) - from;
    const doubtful = [...this.#index.all()];
    this.#uncertain += doubtful.length;
    this.#lostSeries += doubtful.length;
    if (doubtful.length > 0) this.#index.dropAll(doubtful);
  }

  #report(): void {
    const { file } = this.#options;
    if (this.#missing > 0)
      this.#lost.push(
        `${this.#missing} records of ${file} are damaged or missing: ${this.#isOld ? "an unknown number of" : this.#lostSeries} series are lost`,
      );
    if (this.#uncertain > 0)
      this.#lost.push(
        `${this.#uncertain} series of ${file} are not served: ${checkFile(file)} does not say which of their numbers belong to others now`,
      );
    if (this.#old.lostSeries > 0)
      this.#lost.push(`${this.#old.lostSeries} series of ${file} are lost with their labels`);
    if (this.#missingTwins > 0 && this.#minRecords > 0)
      this.#lost.push(
        `${this.#missingTwins} records of ${checkFile(file)} are damaged or missing: no series is lost, the file is written again`,
      );
  }

  #read(payload: Buffer): void {
    if (payload[0] === typeHeader) return;
    if (payload[0] === typeSeries || payload[0] === typeTextSeries)
      return this.#readSeries(payload);
    if (payload[0] === typeDropped) return this.#readDropped(payload);
    this.#old.read(payload);
  }

  #readSeries(payload: Buffer): void {
    const known = new Map<Label, number>();
    // The newer record wins: the record that dropped the older series may be lost.
    readSeriesRecord(payload, (ref, labels) => this.#index.assign(labels, ref, known));
  }

  #readDropped(payload: Buffer): void {
    const cursor = { at: 1 };
    const dropped = new Set<number>();
    let ref = 0;
    for (let left = readVarint(payload, cursor); left > 0; left--) {
      ref += unzigzag(readVarint(payload, cursor));
      if (this.#index.table.isAlive(ref)) dropped.add(ref);
    }
    if (dropped.size > 0) this.#index.dropAll([...dropped]);
  }
}

interface ScannedFile {
  readonly bytes: number;
  readonly end: number;
  readonly records: Map<number, ScannedRecord>;
  readonly isDamaged: boolean;
}

function scanFile(file: string): ScannedFile {
  const { bytes, unreadableBytes } = readIfThere(file);
  const records = new Map<number, ScannedRecord>();
  const { end, damaged } = scanFrames(bytes, (record) => {
    records.set(record.sequence, record);
  });
  return {
    bytes: bytes.length,
    end,
    records,
    isDamaged: damaged.length > 0 || unreadableBytes > 0,
  };
}

/** The store id in a series log; undefined if it has none. */
export const seriesLogStore = (file: string): string | undefined =>
  readHeader(scanFile(file).records.get(0))?.storeId;

function readHeader(
  record: ScannedRecord | undefined,
): { storeId: string; number: number } | undefined {
  if (record?.payload[0] !== typeHeader || record.payload.length < 18) return undefined;
  const storeId = record.payload.toString("latin1", 1, 17);
  return { storeId, number: readVarint(record.payload, { at: 17 }) };
}

interface Twin {
  readonly crc: number;
  readonly refs: readonly number[];
}

function isTextLog(records: ReadonlyMap<number, ScannedRecord>): boolean {
  for (const { payload } of records.values())
    if ([typeSeries, typeTextSeries, typeHeader].includes(payload[0] ?? 0)) return true;
  return false;
}

function readTwin(record: ScannedRecord | undefined): Twin | undefined {
  if (record === undefined || record.payload.length < 5) return undefined;
  const { payload } = record;
  const cursor = { at: 4 };
  const refs: number[] = [];
  let ref = 0;
  try {
    for (let left = readVarint(payload, cursor); left > 0; left--) {
      ref += unzigzag(readVarint(payload, cursor));
      refs.push(ref);
    }
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
  return { crc: payload.readUInt32LE(0), refs };
}

function readIfThere(file: string): SalvagedFile {
  try {
    return salvageFile(file);
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT")
      return { bytes: Buffer.alloc(0), usedBytes: 0, unreadableBytes: 0 };
    throw thrown;
  }
}
