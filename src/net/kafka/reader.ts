/**
 * Reads a topic as a member of a consumer group, message by message, each partition in order. Survives broker restarts
 * and rebalances: uncommitted messages are read again, by us or by another member.
 */
import type { Consumer } from "@platformatic/kafka";
import type { Log } from "../../base/log.ts";
import { baseOptions, closeQuietly, type KafkaClient } from "./client.ts";
import { Membership } from "./membership.ts";
import type { KafkaTarget } from "./options.ts";
import { type OffsetSnapshot, Positions } from "./positions.ts";
import { backoffMs, pause } from "../../base/retry.ts";
import { protocolNames, toPermanentError, formatKafkaError } from "./errors.ts";

export interface TopicReaderOptions {
  readonly target: KafkaTarget;
  readonly group: string;
  readonly from: "earliest" | "latest";
  /** Stop at the offsets that were the partitions' ends at the start. */
  readonly untilEnd: boolean;
  readonly sessionMs: number;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly random: () => number;
}

export interface IncomingMessage {
  readonly partition: number;
  readonly offset: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

type FetchResponse = Awaited<ReturnType<Consumer["fetch"]>>;

const fetchBytes = 8 * 1_024 * 1_024;
const partitionBytes = 1_024 * 1_024;
const waitMs = 250;

export class TopicReader {
  readonly #client: KafkaClient;
  readonly #options: TopicReaderOptions;
  readonly #positions = new Positions();
  #membership: Membership | undefined;
  #fetcher: Consumer | undefined;
  /** Where each partition ended when reading began. */
  #ends: ReadonlyMap<number, bigint> | undefined;

  constructor(client: KafkaClient, options: TopicReaderOptions) {
    this.#client = client;
    this.#options = options;
  }

  lag(): ReadonlyMap<number, number> {
    return this.#positions.lag();
  }

  /** Resolves at the requested end or when the signal aborts; `commit` still works then. */
  async run(take: (message: IncomingMessage) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { target, log, random } = this.#options;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const began = this.#options.nowMs();
      try {
        await this.#stay(take, signal);
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        if (thrown instanceof HandlerError) throw thrown.cause;
        const refused = toPermanentError(thrown, target);
        if (refused !== undefined) throw refused;
        if (this.#options.nowMs() - began > 60_000) attempt = 0;
        // A cluster that has just started has no group coordinator for a moment.
        if (attempt === 2)
          log.warn("reading failed, retrying", {
            of: target.shown,
            error: formatKafkaError(thrown),
          });
        await this.#leave();
        await pause(backoffMs(attempt, random), signal);
      }
    }
  }

  /** The current offsets, for a later commit. */
  mark(): OffsetSnapshot {
    return this.#positions.mark();
  }

  /** Commits the offsets of delivered messages, with retries: the sinks would get them twice otherwise. */
  async commit(upTo?: OffsetSnapshot, signal?: AbortSignal): Promise<void> {
    const { target, log, random } = this.#options;
    const never = new AbortController().signal;
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#membership?.commit(upTo);
        return;
      } catch (thrown) {
        const refused = toPermanentError(thrown, target);
        if (refused !== undefined) throw refused;
        if (attempt === 0)
          log.warn("commit failed, retrying", {
            of: target.shown,
            error: formatKafkaError(thrown),
          });
        // An ended membership cannot commit; the next one reads those messages again.
        if (this.#membership?.over.aborted === true || signal?.aborted === true) return;
        if (attempt >= 30) return;
        await pause(backoffMs(Math.min(attempt, 4), random), signal ?? never);
      }
    }
  }

  async close(): Promise<void> {
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const [membership, fetcher] = [this.#membership, this.#fetcher];
    this.#membership = undefined;
    this.#fetcher = undefined;
    this.#positions.revoke();
    await Promise.all([
      membership?.close(),
      fetcher === undefined ? undefined : closeQuietly(fetcher),
    ]);
  }

  async #stay(
    take: (message: IncomingMessage) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { target, group } = this.#options;
    // A separate connection, so that waiting for messages does not delay heartbeats.
    const fetcher = new this.#client.Consumer({ ...baseOptions(target), groupId: group });
    this.#fetcher = fetcher;
    fetcher.topics.track(target.topic);
    fetcher.on("error", () => undefined);
    if (this.#options.untilEnd) this.#ends ??= await this.#list(fetcher, "LATEST");
    const membership = new Membership(this.#client, this.#options, this.#positions);
    this.#membership = membership;
    await membership.join();
    while (!signal.aborted) {
      if (membership.over.aborted) throw membership.over.reason;
      if (this.#isDone()) return;
      const generation = membership.generation;
      const partitions = this.#positions.assigned;
      if (partitions.length === 0) {
        await pause(50, AbortSignal.any([signal, membership.over]));
        continue;
      }
      const responses = await membership.whileStaying(this.#fetch(fetcher, partitions));
      if (generation !== membership.generation) continue;
      await this.#handOn(responses, take, () => generation === membership.generation, signal);
    }
  }

  #isDone(): boolean {
    const ends = this.#ends;
    if (!this.#options.untilEnd || ends === undefined) return false;
    const assigned = this.#positions.assigned;
    return (
      assigned.length > 0 &&
      assigned.every(
        (partition) => this.#positions.of(partition).next >= (ends.get(partition) ?? 0n),
      )
    );
  }

  async #fetch(fetcher: Consumer, partitions: readonly number[]): Promise<FetchResponse[]> {
    const { topic } = this.#options.target;
    const metadata = await fetcher.metadata({ topics: [topic] });
    const shape = metadata.topics.get(topic);
    if (shape === undefined) throw new Error(`there is no topic ${topic}`);
    const byLeader = new Map<number, number[]>();
    for (const partition of partitions) {
      const leader = shape.partitions[partition]?.leader ?? -1;
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), partition]);
    }
    try {
      return await Promise.all(
        [...byLeader].map(([node, of]) =>
          fetcher.fetch({
            node,
            minBytes: 1,
            maxBytes: fetchBytes,
            maxWaitTime: waitMs,
            topics: [
              {
                topicId: shape.id,
                partitions: of.map((partition) => ({
                  partition,
                  fetchOffset: this.#positions.of(partition).next,
                  partitionMaxBytes: partitionBytes,
                  currentLeaderEpoch: -1,
                  lastFetchedEpoch: -1,
                })),
              },
            ],
          }),
        ),
      );
    } catch (thrown) {
      if (!protocolNames(thrown).includes("OFFSET_OUT_OF_RANGE")) throw thrown;
      await this.#catchUp(fetcher, partitions);
      return [];
    }
  }

  /** Skips messages that retention deleted before they were read, and logs the loss. */
  async #catchUp(fetcher: Consumer, partitions: readonly number[]): Promise<void> {
    const earliest = await this.#list(fetcher, "EARLIEST");
    const latest = await this.#list(fetcher, "LATEST");
    for (const partition of partitions) {
      const { next } = this.#positions.of(partition);
      const [first, end] = [earliest.get(partition) ?? 0n, latest.get(partition) ?? 0n];
      if (next >= first && next <= end) continue;
      this.#options.log.error("messages were deleted before they were read", {
        of: this.#options.target.shown,
        partition,
        from: String(next),
        to: String(first),
      });
      this.#positions.skipTo(partition, first);
    }
  }

  async #list(fetcher: Consumer, which: "EARLIEST" | "LATEST"): Promise<Map<number, bigint>> {
    const { topic } = this.#options.target;
    const timestamp = this.#client.ListOffsetTimestamps[which];
    const offsets = await fetcher.listOffsets({ topics: [topic], timestamp });
    return new Map((offsets.get(topic) ?? []).map((offset, partition) => [partition, offset]));
  }

  async #handOn(
    responses: readonly FetchResponse[],
    take: (message: IncomingMessage) => Promise<void>,
    isOurs: () => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const all = responses.flatMap(({ responses: topics }) =>
      topics.flatMap(({ partitions }) => partitions),
    );
    for (const { partitionIndex: partition, highWatermark, records: batches = [] } of all) {
      const position = this.#positions.of(partition);
      position.end = highWatermark;
      for (const { firstOffset, lastOffsetDelta, attributes, records } of batches) {
        const isControl = (attributes & this.#client.IS_CONTROL) !== 0;
        for (const { offsetDelta, key, value, headers } of isControl ? [] : records) {
          const offset = firstOffset + BigInt(offsetDelta);
          if (offset < position.next) continue;
          if (!isOurs() || signal.aborted) return;
          try {
            await take({ partition, offset, key, value, headers });
          } catch (thrown) {
            throw new HandlerError(thrown);
          }
          position.next = offset + 1n;
        }
        const after = firstOffset + BigInt(lastOffsetDelta) + 1n;
        if (after > position.next) position.next = after;
      }
    }
  }
}

/** An error of the message handler, not of Kafka. */
class HandlerError extends Error {
  constructor(cause: unknown) {
    super("a message could not be handed on", { cause });
  }
}
