/**
 * One consumer group membership: joins, sends heartbeats, follows partition assignments, commits. It signals its end
 * and never rejoins: the caller creates another one.
 */
import type { Consumer } from "@platformatic/kafka";
import type { Log } from "../../base/log.ts";
import { baseOptions, closeQuietly, type KafkaClient } from "./client.ts";
import type { KafkaTarget } from "./options.ts";
import type { OffsetSnapshot, Positions } from "./positions.ts";
import { protocolNames, toPermanentError, formatKafkaError } from "./errors.ts";

export interface MembershipOptions {
  readonly target: KafkaTarget;
  readonly group: string;
  /** The start position of a group without committed offsets. */
  readonly from: "earliest" | "latest";
  /** Kafka's session timeout. */
  readonly sessionMs: number;
  readonly log: Log;
  readonly nowMs: () => number;
}

const lostPlace = new Set(["NOT_COORDINATOR", "FENCED_INSTANCE_ID", "UNKNOWN_MEMBER_ID"]);
const changing = new Set(["ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"]);

export class Membership {
  readonly #options: MembershipOptions;
  readonly #positions: Positions;
  readonly #consumer: Consumer;
  readonly #client: KafkaClient;
  readonly #over = new AbortController();
  readonly #watch: NodeJS.Timeout;
  #assigning: Promise<void> = Promise.resolve();
  #lastSeenMs: number;
  #generation = 0;

  constructor(client: KafkaClient, options: MembershipOptions, positions: Positions) {
    const { target, group, sessionMs, nowMs } = options;
    this.#client = client;
    this.#options = options;
    this.#positions = positions;
    this.#lastSeenMs = nowMs();
    const rebalanceMs = Math.max(30_000, sessionMs);
    const consumer = new client.Consumer({
      // A join is answered when every other member has come, which takes up to the rebalance's time.
      ...baseOptions(target, { connectMs: 5_000, requestMs: rebalanceMs + 5_000 }),
      groupId: group,
      sessionTimeout: sessionMs,
      rebalanceTimeout: rebalanceMs,
      heartbeatInterval: Math.max(500, Math.floor(sessionMs / 6)),
      autocommit: false,
    });
    this.#consumer = consumer;
    consumer.topics.track(target.topic);
    consumer.on("consumer:group:rebalance", () => this.#revoke());
    consumer.on("consumer:group:join", () => this.#learn());
    consumer.on("consumer:heartbeat:end", () => (this.#lastSeenMs = nowMs()));
    consumer.on("consumer:heartbeat:error", ({ error }) => this.#doubt(error));
    consumer.on("error", (error) => this.#end(error));
    // The client can lose a response with a broken connection, and then neither joins nor reports an error.
    const silentMs = rebalanceMs + 5_000;
    this.#watch = setInterval(() => {
      if (nowMs() - this.#lastSeenMs > silentMs)
        this.#end(new Error(`the group was silent for ${silentMs / 1_000} s`));
    }, 1_000).unref();
  }

  /** Aborts when this membership ends, with the cause as its reason. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Changes with every partition assignment. */
  get generation(): number {
    return this.#generation;
  }

  async join(): Promise<void> {
    await this.whileStaying(this.#consumer.joinGroup({}));
    await this.whileStaying(this.#assigning);
    if (this.over.aborted) throw this.over.reason;
  }

  /** What the work gives; rejects when the stay is over before it. */
  async whileStaying<T>(work: Promise<T>): Promise<T> {
    let leave = (): void => {};
    const over = new Promise<never>((_, reject) => {
      leave = () => reject(this.over.reason as Error);
      if (this.over.aborted) leave();
      else this.over.addEventListener("abort", leave, { once: true });
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      this.over.removeEventListener("abort", leave);
    }
  }

  /** Commits what was handed on of the partitions that are still ours; those that are not are another's to read again. */
  async commit(upTo?: OffsetSnapshot): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      await this.whileStaying(this.#assigning);
      const { topic } = this.#options.target;
      const found = [...this.#positions.uncommitted(upTo)];
      if (found.length === 0) return;
      const generation = this.#generation;
      try {
        await this.whileStaying(
          this.#consumer.commit({
            offsets: found.map(([partition, offset]) => offsetOf(topic, partition, offset)),
          }),
        );
        for (const [partition, offset] of found) this.#positions.of(partition).committed = offset;
        return;
      } catch (thrown) {
        const moved = protocolNames(thrown).some((name) => changing.has(name));
        if (!moved || attempt >= 20 || this.over.aborted) throw thrown;
        if (generation === this.#generation) await this.#changed();
      }
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.#over.abort(new Error("closed"));
    await closeQuietly(this.#consumer);
  }

  /** Resolves at the next share, at the end of the stay, or after a second. */
  async #changed(): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#consumer.off("consumer:group:join", done);
        this.over.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, 1_000);
      this.#consumer.once("consumer:group:join", done);
      this.over.addEventListener("abort", done, { once: true });
    });
  }

  #revoke(): void {
    this.#generation++;
    this.#positions.revoke();
  }

  #learn(): void {
    this.#revoke();
    this.#lastSeenMs = this.#options.nowMs();
    const generation = this.#generation;
    this.#assigning = this.#begin(generation).catch((thrown: unknown) => this.#end(thrown));
  }

  /** The start offset of each partition: the committed one, or `from`. */
  async #begin(generation: number): Promise<void> {
    const { target, from, log, group } = this.#options;
    const { topic } = target;
    const partitions =
      this.#consumer.assignments?.find((one) => one.topic === topic)?.partitions ?? [];
    const begin = new Map<number, bigint>();
    const unknown: [partition: number, offset: bigint][] = [];
    if (partitions.length > 0) {
      const { EARLIEST, LATEST } = this.#client.ListOffsetTimestamps;
      const [committed, fresh] = await Promise.all([
        this.#consumer.listCommittedOffsets({ topics: [{ topic, partitions }] }),
        this.#consumer.listOffsets({
          topics: [topic],
          timestamp: from === "earliest" ? EARLIEST : LATEST,
        }),
      ]);
      for (const partition of partitions) {
        const known = committed.get(topic)?.[partition] ?? -1n;
        const first = fresh.get(topic)?.[partition] ?? 0n;
        begin.set(partition, known >= 0n ? known : first);
        if (known < 0n) unknown.push([partition, first]);
      }
    }
    if (generation !== this.#generation) return;
    // Otherwise the next share would begin at an end that has moved on meanwhile.
    if (from === "latest" && unknown.length > 0)
      await this.#consumer.commit({
        offsets: unknown.map(([partition, offset]) => offsetOf(topic, partition, offset)),
      });
    if (generation !== this.#generation) return;
    this.#generation++;
    this.#positions.assign(begin);
    log.info("reading partitions", { of: target.shown, group, partitions: partitions.join(",") });
  }

  #doubt(error: Error): void {
    const { nowMs, sessionMs } = this.#options;
    const isLost = protocolNames(error).some((name) => lostPlace.has(name));
    if (isLost || nowMs() - this.#lastSeenMs > sessionMs) this.#end(error);
  }

  #end(thrown: unknown): void {
    if (this.over.aborted) return;
    this.#revoke();
    const { target, log } = this.#options;
    if (toPermanentError(thrown, target) === undefined)
      log.warn("consumer group membership lost, rejoining", {
        of: target.shown,
        error: formatKafkaError(thrown),
      });
    this.#over.abort(thrown);
  }
}

function offsetOf(topic: string, partition: number, offset: bigint) {
  return { topic, partition, offset, leaderEpoch: -1 };
}
