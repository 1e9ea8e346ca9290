/**
 * Compresses batches of messages while an earlier one is being sent. One batch at a time is in flight, and its compression took as
 * long as its way to the broker and back: a log was read faster than it was sent. A batch is used only for exactly the records it
 * was made of; if the client groups them otherwise, they are compressed again.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type BatchRecord, encodeRecords } from "./record-batch.ts";

interface CompressedRecords {
  readonly records: readonly BatchRecord[];
  readonly packed: Promise<Buffer>;
}

const gzipAsync = promisify(gzip);
/** 900 kB of messages of one log compress to 30 to 60 kB: one turn of the thread pool instead of four. */
const gzipOptions = { chunkSize: 65_536 };

export const compressRecords = (records: readonly BatchRecord[]): Promise<Buffer> =>
  gzipAsync(encodeRecords(records), gzipOptions);

const noHeaders: ReadonlyMap<Buffer, Buffer> = new Map();

export class AheadCompressor {
  /** By topic and key; a key is the same buffer in each of its messages. */
  readonly #partitions = new Map<string, Map<Buffer, number>>();
  /** By the value of the first record: a message that is acknowledged or lost takes its entry along. */
  readonly #compressed = new WeakMap<Buffer, CompressedRecords>();

  /** Remembers where the client sends a key, to group later messages like it. */
  learn(topic: string, partition: number, records: readonly BatchRecord[]): void {
    const partitions = this.#partitions.get(topic) ?? new Map<Buffer, number>();
    this.#partitions.set(topic, partitions);
    if (partitions.size > mostKeys) partitions.clear();
    for (const { key } of records)
      if (partitions.get(key) !== partition) partitions.set(key, partition);
  }

  /** Begins to compress messages without headers, if the partitions of all their keys are known. */
  prepare(topic: string, messages: readonly Omit<BatchRecord, "headers">[]): void {
    const partitions = this.#partitions.get(topic);
    const groups = new Map<number, BatchRecord[]>();
    for (const { key, value } of messages) {
      const partition = partitions?.get(key);
      if (partition === undefined) return;
      const record = { key, value, headers: noHeaders };
      const group = groups.get(partition);
      if (group === undefined) groups.set(partition, [record]);
      else group.push(record);
    }
    for (const records of groups.values()) {
      const [first] = records;
      if (first === undefined) continue;
      const packed = compressRecords(records);
      // A caller that awaits it gets the error; a later attempt compresses the records again.
      packed.catch(() => this.#compressed.delete(first.value));
      this.#compressed.set(first.value, { records, packed });
    }
  }

  /** Undefined if exactly these records were not prepared. A resent batch is found again. */
  find(records: readonly BatchRecord[]): Promise<Buffer> | undefined {
    const [first] = records;
    const found = first === undefined ? undefined : this.#compressed.get(first.value);
    if (found === undefined || found.records.length !== records.length) return undefined;
    const isSame = found.records.every(({ key, value }, at) => {
      const record = records[at];
      return record?.key === key && record.value === value && record.headers.size === 0;
    });
    return isSame ? found.packed : undefined;
  }
}

const mostKeys = 10_000;
