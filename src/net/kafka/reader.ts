/**
 * Reads a topic as a member of a consumer group, message by message, each partition in order. Survives broker restarts and
 * rebalances: a revoked partition is stored and committed before it is given up, and uncommitted messages of a killed member are
 * read again, by this or another member.
 */
import type { Consumer } from "@platformatic/kafka";
import type { Log } from "../../base/log.ts";
import { baseOptions, closeQuietly, type KafkaClient } from "./client.ts";
import { Membership } from "./membership.ts";
import type { KafkaTarget } from "./options.ts";
import { type OffsetSnapshot, Positions } from "./positions.ts";
import { backoffMs, pause } from "../../base/retry.ts";
import { protocolNames, toPermanentError, formatKafkaError } from "./errors.ts";
import { findAborted } from "./transactions.ts";

export interface TopicReaderOptions {
  readonly target: KafkaTarget;
  readonly group: string;
  readonly from: "earliest" | "latest";
  /** Stops at the end offsets that the partitions had at the start. */
  readonly untilEnd: boolean;
  readonly sessionMs: number;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly random: () => number;
}

export interface IncomingMessage {
  /** The topic's id; a topic created later under the same name has another one. */
  readonly topicId: string;
  readonly partition: number;
  readonly offset: bigint;
  /** Every message from this offset up to this message was delivered, or needs no delivery. */
  readonly since: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

interface HandOnOptions {
  readonly take: (message: IncomingMessage) => Promise<void>;
  /** True if the partition has been owned without interruption since the messages were requested. */
  readonly isOurs: (partition: number) => boolean;
  readonly between: () => void;
}

type FetchResponse = Awaited<ReturnType<Consumer["fetch"]>>;

const fetchBytes = 8 * 1_024 * 1_024;
const partitionBytes = 1_024 * 1_024;
const waitMs = 250;
/**
 * 1 on the wire. Not the client's own constant, which turns on its filter of aborted batches: that filter (1.35) handles one
 * aborted transaction per producer and response, needs its marker in the same response, and throws at a marker of an unlisted
 * transaction.
 */
const readCommitted = true as unknown as number;
/** A broker that has not answered a fetch for this long may have messages that are unknown here. */
const silentMs = 3_000;

export class TopicReader {
  readonly #client: KafkaClient;
  readonly #options: TopicReaderOptions;
  readonly #positions = new Positions();
  #membership: Membership | undefined;
  #fetcher: Consumer | undefined;
  /** The end offset of each partition when reading began. */
  #ends: ReadonlyMap<number, bigint> | undefined;
  #topicId: string | undefined;
  #isGivingUp = false;
  /** True if the last fetch of the current partitions was answered; `#answeredMs` is when. */
  #isFollowing = false;
  #answeredMs = 0;

  constructor(client: KafkaClient, options: TopicReaderOptions) {
    this.#client = client;
    this.#options = options;
  }

  lag(): ReadonlyMap<number, number> {
    return this.#positions.lag();
  }

  /** Undefined while no broker responds, during a rebalance, or while the end offsets are unknown. */
  unread(): number | undefined {
    const isRecent = this.#options.nowMs() - this.#answeredMs < silentMs;
    return this.#isFollowing && isRecent ? this.#positions.unread() : undefined;
  }

  /**
   * Resolves at the requested end or when the signal aborts; `commit` still works then.
   * @param checkpoint stores and commits the messages passed to `take`, before partitions are given up
   */
  async run(
    take: (message: IncomingMessage) => Promise<void>,
    signal: AbortSignal,
    checkpoint?: () => Promise<void>,
  ): Promise<void> {
    const { target, log, random } = this.#options;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const began = this.#options.nowMs();
      try {
        await this.#stay(take, signal, checkpoint);
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

  /** Commits the offsets of delivered messages, with retries: the sinks would receive them twice otherwise. */
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
    this.#isFollowing = false;
    this.#membership = undefined;
    this.#fetcher = undefined;
    this.#positions.lose();
    await Promise.all([
      membership?.close(),
      fetcher === undefined ? undefined : closeQuietly(fetcher),
    ]);
  }

  async #stay(
    take: (message: IncomingMessage) => Promise<void>,
    signal: AbortSignal,
    checkpoint: (() => Promise<void>) | undefined,
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
    // Runs between two messages, so that no message of a revoked partition is on its way to a sink.
    const giveUp = (): void => {
      if (!this.#positions.hasRevoked || this.#isGivingUp) return;
      this.#isGivingUp = true;
      void membership.giveUpRevoked(checkpoint).finally(() => (this.#isGivingUp = false));
    };
    while (!signal.aborted) {
      if (membership.over.aborted) throw membership.over.reason;
      if (this.#isDone()) return;
      giveUp();
      const partitions = this.#positions.assigned;
      if (partitions.length === 0) {
        this.#answered(membership.isAssigned);
        await pause(50, AbortSignal.any([signal, membership.over]));
        continue;
      }
      const asked = this.#positions.mark();
      const responses = await membership.whileStaying(this.#fetch(fetcher, partitions));
      this.#answered(membership.isAssigned);
      const isOurs = (partition: number): boolean =>
        this.#positions.has(partition) &&
        this.#positions.of(partition) === asked.get(partition)?.of &&
        !signal.aborted;
      await this.#handOn(responses, { take, isOurs, between: giveUp });
    }
  }

  #answered(isOurs: boolean): void {
    this.#isFollowing = isOurs;
    this.#answeredMs = this.#options.nowMs();
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
    this.#checkTopic(shape.id);
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
            isolationLevel: readCommitted,
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

  /** Offsets of a deleted topic are invalid in a topic created under the same name: start again. */
  #checkTopic(id: string): void {
    const { target, group, log } = this.#options;
    if (this.#topicId !== undefined && this.#topicId !== id) {
      log.warn("the topic was deleted and created again, reading it from where the group begins", {
        of: target.shown,
        group,
      });
      this.#topicId = id;
      this.#positions.forget();
      throw new Error(`the topic ${target.topic} was created again`);
    }
    this.#topicId = id;
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
    { take, isOurs, between }: HandOnOptions,
  ): Promise<void> {
    const all = responses.flatMap(({ responses: topics }) =>
      topics.flatMap(({ partitions }) => partitions),
    );
    const topicId = this.#topicId ?? "";
    for (const { partitionIndex: partition, highWatermark, records, abortedTransactions } of all) {
      if (!isOurs(partition)) continue;
      const batches = records ?? [];
      const aborted = findAborted(batches, abortedTransactions);
      const position = this.#positions.of(partition);
      position.end = highWatermark;
      for (const batch of batches) {
        const { firstOffset, lastOffsetDelta, attributes } = batch;
        const isControl = (attributes & this.#client.IS_CONTROL) !== 0;
        const messages = isControl || aborted.has(batch) ? [] : batch.records;
        for (const { offsetDelta, key, value, headers } of messages) {
          const offset = firstOffset + BigInt(offsetDelta);
          if (offset < position.next) continue;
          between();
          if (!isOurs(partition)) break;
          try {
            const { from: since } = position;
            await take({ topicId, partition, offset, since, key, value, headers });
          } catch (thrown) {
            throw new HandlerError(thrown);
          }
          position.next = offset + 1n;
        }
        if (!isOurs(partition)) break;
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
