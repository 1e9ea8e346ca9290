/** XID errors as events: counted since this program started, with the time of the last one. Never exposed as a gauge that stays set. */
import { code } from "../nvml/codes.ts";
import type { Nvml } from "../nvml/library.ts";
import { eventData, readCount, xidEvent } from "../nvml/structs.ts";
import type { XidReading } from "../protocol.ts";
import type { NvmlCard } from "./card.ts";

const mostAtOnce = 64;

export class XidWatch {
  readonly #nvml: Nvml;
  /** By the GPU's UUID, so that counts survive a driver reload. */
  readonly #seen = new Map<string, Map<number, { count: number; lastMs: number }>>();
  /** Handles registered for events. */
  readonly #watched = new Set<number>();
  #set = 0;

  constructor(nvml: Nvml) {
    this.#nvml = nvml;
  }

  /** Registers the cards for events; a card that does not support them is not watched. */
  watch(cards: readonly NvmlCard[]): void {
    const out = Buffer.alloc(8);
    if (this.#set !== 0) this.#nvml.nvmlEventSetFree(this.#set);
    this.forget();
    if (this.#nvml.nvmlEventSetCreate(out) !== code.success) return;
    this.#set = Number(out.readBigUInt64LE(0));
    for (const { handle, instance } of cards) {
      if (instance !== undefined) continue;
      const got = this.#nvml.nvmlDeviceRegisterEvents(handle, xidEvent, this.#set);
      if (got === code.success) this.#watched.add(handle);
    }
  }

  isWatched({ handle }: NvmlCard): boolean {
    return this.#watched.has(handle);
  }

  /** Drops the event set, which belongs to an unloaded driver. */
  forget(): void {
    this.#set = 0;
    this.#watched.clear();
  }

  /** Collects the events since the last call; a wait of 0 ms costs 2 µs. */
  collect(cards: readonly NvmlCard[], nowMs: number): void {
    if (this.#set === 0) return;
    const event = Buffer.alloc(eventData.bytes);
    for (let index = 0; index < mostAtOnce; index++) {
      if (this.#nvml.nvmlEventSetWait_v2(this.#set, event, 0) !== code.success) return;
      if ((event.readUInt32LE(eventData.type) & xidEvent) === 0) continue;
      const handle = Number(event.readBigUInt64LE(eventData.device));
      const card = cards.find((one) => one.handle === handle);
      const xid = readCount(event, eventData.data);
      if (card === undefined || !Number.isSafeInteger(xid)) continue;
      const ofCard =
        this.#seen.get(card.device.uuid) ?? new Map<number, { count: number; lastMs: number }>();
      ofCard.set(xid, { count: (ofCard.get(xid)?.count ?? 0) + 1, lastMs: nowMs });
      this.#seen.set(card.device.uuid, ofCard);
    }
  }

  readings(cards: readonly NvmlCard[]): XidReading[] {
    return cards.flatMap(({ device, at }) =>
      [...(this.#seen.get(device.uuid) ?? [])].map(([xid, { count, lastMs }]) => ({
        device: at,
        xid,
        count,
        lastMs,
      })),
    );
  }
}
