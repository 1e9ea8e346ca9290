/**
 * Decides whether a client may create one more series, and counts the series of each client: a limit for all series, a
 * share of it for one client, and a reserve for clients with few series. A client at its limit never uses up the others'
 * share.
 */
import type { LabelSet } from "../../model/labels.ts";
import type { LabelIndex } from "./index/index.ts";
import type { StoreLimits } from "./options.ts";
import { GrowableUint32 } from "./slab/growable.ts";

/** A series with longer labels counts as several. */
const textPerSeries = 1_024;
const maxWeight = 255;
/** Client numbers have 24 bits; series of further clients have no owner. */
const maxClients = 1_000_000;
/** The last share of all series is reserved for clients that have fewer than this share themselves. */
const reserve = 0.2;

interface Client {
  readonly id: number;
  readonly name: string;
  weight: number;
}

export class SeriesBudget {
  readonly #limits: StoreLimits;
  /** Per series, the client's number and in the low 8 bits the weight; 0 for a series without an owner since startup. */
  readonly #owners = new GrowableUint32();
  readonly #clients = new Map<string, Client>();
  readonly #byId: (Client | undefined)[] = [undefined];
  readonly #freeIds: number[] = [];
  /** Why series were last rejected. */
  reason: string | undefined;

  constructor(limits: StoreLimits) {
    this.#limits = limits;
  }

  /** The client's series, weighted like the limit. */
  countOf(client: string): number {
    return this.#clients.get(client)?.weight ?? 0;
  }

  /**
   * Without a client, as for the hub's own series and scraped ones, only the limits for all series and for a target
   * apply.
   */
  mayCreate(labels: LabelSet, index: LabelIndex, client: string | undefined): boolean {
    const { maxSeries, maxSeriesPerTarget, maxSeriesPerClient } = this.#limits;
    const all = index.table.count + Math.floor(index.symbols.textBytes / textPerSeries);
    if (all >= maxSeries)
      return this.#refuse(
        `the store holds ${count(all)} series, its limit: delete some with delete_series, shorten the retention, or raise --memory`,
      );
    const instance = labels.find(([name]) => name === "instance")?.[1];
    if (instance !== undefined && index.seriesWith("instance", instance) >= maxSeriesPerTarget)
      return this.#refuse(
        `${count(maxSeriesPerTarget)} series carry instance="${instance.slice(0, 100)}", the limit for one target: drop labels with many values at that target`,
      );
    if (client === undefined) return true;
    const own = this.countOf(client);
    if (own >= maxSeriesPerClient)
      return this.#refuse(
        `${client} has created ${count(own)} series, the limit for one client: remove labels with many values, delete series, or raise --memory`,
      );
    if (all >= maxSeries * (1 - reserve) && own >= maxSeries * reserve)
      return this.#refuse(
        `the store holds ${count(all)} of at most ${count(maxSeries)} series, and the rest is reserved for clients with fewer than ${count(maxSeries * reserve)}: delete series, or raise --memory`,
      );
    return true;
  }

  created(ref: number, labels: LabelSet, client: string | undefined): void {
    if (client === undefined) return;
    let letters = 0;
    for (const [name, value] of labels) letters += name.length + value.length;
    this.#own(ref, client, Math.min(maxWeight, 1 + Math.floor(letters / textPerSeries)));
  }

  /** A series from before the last start belongs to the client that continues it. */
  claim(ref: number, client: string | undefined): void {
    if (client !== undefined && this.#owners.at(ref) === 0) this.#own(ref, client, 1);
  }

  dropped(ref: number): void {
    const owner = this.#owners.at(ref);
    if (owner === 0) return;
    this.#owners.put(ref, 0);
    const client = this.#byId[owner >>> 8];
    if (client === undefined) return;
    client.weight -= owner & 0xff;
    if (client.weight > 0) return;
    this.#clients.delete(client.name);
    this.#byId[client.id] = undefined;
    this.#freeIds.push(client.id);
  }

  #own(ref: number, name: string, weight: number): void {
    let client = this.#clients.get(name);
    if (client === undefined) {
      if (this.#clients.size >= maxClients) return;
      client = { id: this.#freeIds.pop() ?? this.#byId.length, name, weight: 0 };
      this.#clients.set(name, client);
      this.#byId[client.id] = client;
    }
    client.weight += weight;
    this.#owners.put(ref, client.id * 256 + weight);
  }

  #refuse(reason: string): false {
    this.reason = reason;
    return false;
  }
}

const count = (value: number): string => Math.floor(value).toLocaleString("en-US");
