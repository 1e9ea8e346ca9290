/**
 * Sends frames to ClickHouse. Rows are collected into blocks in memory; `flush` resolves once the server has stored
 * them.
 */
import type { Clock } from "../../base/clock.ts";
import type { BufferedSender } from "../../base/send/buffered-sender.ts";
import { Gatherer } from "../../lake/gather.ts";
import { GrowingRows, type Rows, type TableName } from "../../lake/table.ts";
import type { Delivery, ShippingStats, Sink } from "../../pipeline/sink.ts";
import { memoryShipping } from "../shipping.ts";
import type { ClickHouseWriter } from "./writer.ts";

export interface ClickHouseSinkParts {
  readonly name: string;
  /** The host of frames without one: this machine. */
  readonly host: string;
  readonly batchRows: number;
  readonly lingerMs: number;
  /** Sends one block per request. */
  readonly sender: BufferedSender<Rows>;
  readonly writer: Pick<ClickHouseWriter, "close">;
  readonly clock: Clock;
}

const closeWithinMs = 10_000;

export class ClickHouseSink implements Sink {
  readonly name: string;
  readonly takesWhileFlushing = true;
  readonly #parts: ClickHouseSinkParts;
  readonly #gatherer = new Gatherer();
  readonly #growing = new Map<TableName, GrowingRows>();
  #cancelTimer: (() => void) | undefined;

  constructor(parts: ClickHouseSinkParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  async write({ frame, devices, tags, host = this.#parts.host }: Delivery): Promise<void> {
    const { batchRows, lingerMs, clock } = this.#parts;
    this.#gatherer.frame({ frame, devices, host, tags }, (table) => this.#rowsOf(table));
    const full = [...this.#growing].filter(([, { count }]) => count >= batchRows);
    if (full.length > 0) await this.#seal(full.map(([table]) => table));
    if (this.#growing.size > 0)
      this.#cancelTimer ??= clock.after(lingerMs, () => {
        // A sender that has failed also rejects the next write and flush.
        this.#seal([...this.#growing.keys()]).catch(() => undefined);
      });
  }

  async flush(signal: AbortSignal): Promise<void> {
    const room = this.#seal([...this.#growing.keys()]);
    await this.#parts.sender.flush(signal);
    await room;
  }

  /** Counts blocks of rows as records; nothing is spooled on disk. */
  shipping(): ShippingStats {
    return memoryShipping(this.name, this.#parts.sender.stats());
  }

  async close(): Promise<void> {
    void this.#seal([...this.#growing.keys()]).catch(() => undefined);
    await this.#parts.sender.close(closeWithinMs);
    this.#parts.writer.close();
  }

  #rowsOf(table: TableName): GrowingRows {
    const known = this.#growing.get(table);
    if (known !== undefined) return known;
    const rows = new GrowingRows(table);
    this.#growing.set(table, rows);
    return rows;
  }

  /** Queues the tables' blocks at once; resolves when there is room for more. */
  async #seal(tables: readonly TableName[]): Promise<void> {
    const blocks = tables.flatMap((table) => this.#growing.get(table)?.finish() ?? []);
    for (const table of tables) this.#growing.delete(table);
    if (this.#growing.size === 0) {
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    }
    if (blocks.length > 0) await this.#parts.sender.add(blocks);
  }
}
