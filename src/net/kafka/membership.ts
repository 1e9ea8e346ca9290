/**
 * One consumer group membership: joins, sends heartbeats, follows partition assignments, commits. Retained partitions are read on
 * during a rebalance; revoked partitions are given up once everything read from them is stored. Signals its end and never restarts:
 * the caller creates another membership.
 */
import type { Consumer } from "@platformatic/kafka";
import type { Log } from "../../base/log.ts";
import { cooperativeAssigner, encodeClaims } from "./assignor.ts";
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
  /** Number of assignments received. */
  #changes = 0;
  #assignedChange = -1;
  /** The member id at the group's coordinator; it changes after the coordinator removed this member. */
  #memberId: string | undefined;
  #generationId = -1;
  /** The owned partitions sent with the last JoinGroup. */
  #announced: readonly number[] = [];

  constructor(client: KafkaClient, options: MembershipOptions, positions: Positions) {
    const { target, group, sessionMs, nowMs } = options;
    this.#client = client;
    this.#options = options;
    this.#positions = positions;
    this.#lastSeenMs = nowMs();
    const rebalanceMs = Math.max(30_000, sessionMs);
    const consumer = new client.Consumer({
      // A join is answered once every other member has joined, which takes up to the rebalance timeout.
      ...baseOptions(target, { connectMs: 5_000, requestMs: rebalanceMs + 5_000 }),
      groupId: group,
      sessionTimeout: sessionMs,
      rebalanceTimeout: rebalanceMs,
      heartbeatInterval: Math.max(500, Math.floor(sessionMs / 6)),
      autocommit: false,
      protocols: this.#protocols(),
      partitionAssigner: cooperativeAssigner,
    });
    this.#consumer = consumer;
    consumer.topics.track(target.topic);
    // The client reads the claims immediately before it sends a join; a join in flight carries older claims.
    consumer.on("client:performDeduplicated", (operation: string) => {
      if (operation === "joinGroup") this.#announced = this.#positions.owned;
    });
    consumer.on("consumer:group:join", (joined) => this.#learn(joined));
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

  /** False while the start offset of an assigned partition is unknown. */
  get isAssigned(): boolean {
    return this.#assignedChange === this.#changes;
  }

  async join(): Promise<void> {
    await this.whileStaying(this.#consumer.joinGroup({}));
    await this.whileStaying(this.#assigning);
    if (this.over.aborted) throw this.over.reason;
  }

  /**
   * Gives up the revoked partitions, after `checkpoint` has stored and committed the messages delivered from them. Without a
   * checkpoint they are given up immediately, and their next reader starts at the last commit. None of their messages may be in
   * flight.
   */
  async giveUpRevoked(checkpoint: (() => Promise<void>) | undefined): Promise<void> {
    const { revoked } = this.#positions;
    if (revoked.length === 0) return;
    try {
      if (checkpoint !== undefined) await this.whileStaying(checkpoint());
      if (this.over.aborted) return;
      const { target, log, group } = this.#options;
      const uncommitted = this.#positions.uncommitted();
      this.#positions.giveUp(revoked);
      log.info("gave up partitions", {
        of: target.shown,
        group,
        partitions: revoked.join(","),
        committed: !revoked.some((partition) => uncommitted.has(partition)),
      });
      await this.#announce();
    } catch (thrown) {
      this.#end(thrown);
    }
  }

  /** Resolves with the result of `work`; rejects if the membership ends first. */
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

  /** Commits the delivered offsets of the owned partitions; another member reads the messages of lost partitions again. */
  async commit(upTo?: OffsetSnapshot): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      await this.whileStaying(this.#assigning);
      const { topic } = this.#options.target;
      const found = [...this.#positions.uncommitted(upTo)];
      if (found.length === 0) return;
      const changes = this.#changes;
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
        if (changes === this.#changes) await this.#changed();
      }
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.#over.abort(new Error("closed"));
    await closeQuietly(this.#consumer);
  }

  /** Resolves at the next assignment, at the end of the membership, or after a second. */
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

  /**
   * The assignment strategies offered to the group; the broker selects one that every member has. The second is that of earlier
   * versions, whose members claim nothing. The user data is read when a join is sent.
   */
  #protocols(): { name: string; version: number; metadata: string }[] {
    const claims = (): string =>
      encodeClaims({
        generation: this.#generationId,
        owned: { [this.#options.target.topic]: this.#positions.owned },
      });
    return ["gpulse-cooperative", "roundrobin"].map((name) => ({
      name,
      version: 1,
      get metadata() {
        return claims();
      },
    }));
  }

  /** Rejoins with fewer owned partitions, so that the group assigns the revoked ones. */
  async #announce(): Promise<void> {
    const owned = new Set(this.#positions.owned);
    if (this.#announced.every((partition) => owned.has(partition))) return;
    await this.whileStaying(this.#consumer.joinGroup({}));
  }

  #learn({ memberId, generationId }: { memberId?: string; generationId?: number }): void {
    this.#changes++;
    this.#lastSeenMs = this.#options.nowMs();
    // The coordinator had removed this member: its partitions may belong to another one since then.
    if (this.#memberId !== undefined && this.#memberId !== memberId) this.#positions.lose();
    this.#memberId = memberId;
    this.#generationId = generationId ?? -1;
    const { topic } = this.#options.target;
    const share = this.#consumer.assignments?.find((one) => one.topic === topic)?.partitions ?? [];
    const added = this.#positions.reshare(share);
    const changes = this.#changes;
    this.#assigning = this.#begin(added, changes).catch((thrown: unknown) => this.#end(thrown));
    // A join that was in flight when partitions were given up still claimed them.
    void this.#announce().catch((thrown: unknown) => this.#end(thrown));
  }

  /** The start offset of each partition: the committed one, or `from`. */
  async #begin(added: readonly number[], changes: number): Promise<void> {
    const { target, from, log, group } = this.#options;
    const { topic } = target;
    const partitions = [...added];
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
    if (changes !== this.#changes || this.over.aborted) return;
    // Otherwise the next assignment would begin at an end offset that has moved meanwhile.
    if (from === "latest" && unknown.length > 0)
      await this.#consumer.commit({
        offsets: unknown.map(([partition, offset]) => offsetOf(topic, partition, offset)),
      });
    if (changes !== this.#changes || this.over.aborted) return;
    this.#assignedChange = changes;
    this.#positions.assign(begin);
    const assigned = this.#positions.assigned.join(",");
    log.info("reading partitions", { of: target.shown, group, partitions: assigned });
  }

  #doubt(error: Error): void {
    const { nowMs, sessionMs } = this.#options;
    const isLost = protocolNames(error).some((name) => lostPlace.has(name));
    if (isLost || nowMs() - this.#lastSeenMs > sessionMs) this.#end(error);
  }

  #end(thrown: unknown): void {
    if (this.over.aborted) return;
    this.#changes++;
    this.#positions.lose();
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
