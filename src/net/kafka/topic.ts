/** Checks that a topic exists before it is used, and creates it on request. */
import { GpulseError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { baseOptions, type KafkaClient } from "./client.ts";
import type { KafkaTarget } from "./options.ts";
import { isUnknownTopic, protocolNames, toPermanentError, toUnreachableError } from "./errors.ts";
import { backoffMs, pause } from "../../base/retry.ts";

export interface TopicShape {
  readonly partitions: number;
  /** Replication factor; -1 for the cluster's default. */
  readonly replication: number;
}

export interface PrepareTopicsOptions {
  readonly target: KafkaTarget;
  /** The topics to check or create. */
  readonly topics: readonly string[];
  /** If undefined, a missing topic is an error. */
  readonly create: TopicShape | undefined;
  readonly withinMs: number;
  readonly nowMs: () => number;
  readonly random: () => number;
}

/** @throws GpulseError if no broker responds in time, the topic does not exist, or the broker refuses something. */
export async function prepareTopics(
  client: KafkaClient,
  options: PrepareTopicsOptions,
): Promise<void> {
  const { target, topics, create, withinMs, nowMs, random } = options;
  const deadline = nowMs() + withinMs;
  const connectMs = Math.max(500, Math.min(5_000, Math.floor(withinMs / 2)));
  const admin = new client.Admin(baseOptions(target, { connectMs, requestMs: connectMs * 2 }));
  try {
    for (const topic of topics) {
      for (let attempt = 0; ; attempt++) {
        try {
          await ensure(admin, topic, create);
          break;
        } catch (thrown) {
          const refused = isUnknownTopic(thrown)
            ? new MissingTopicError(topic, target)
            : toPermanentError(thrown, target);
          if (refused !== undefined) throw refused;
          const pauseMs = backoffMs(attempt, random);
          if (nowMs() + pauseMs >= deadline) throw toUnreachableError(thrown, target);
          await pause(pauseMs, new AbortController().signal);
        }
      }
    }
  } finally {
    await admin.close().catch(() => undefined);
  }
}

async function ensure(
  admin: InstanceType<KafkaClient["Admin"]>,
  topic: string,
  create: TopicShape | undefined,
): Promise<void> {
  try {
    await admin.metadata({ topics: [topic], forceUpdate: true });
    return;
  } catch (thrown) {
    if (create === undefined || !isUnknownTopic(thrown)) throw thrown;
  }
  try {
    await admin.createTopics({
      topics: [topic],
      partitions: create.partitions,
      replicas: create.replication,
    });
  } catch (thrown) {
    // Another process may have created it at the same moment.
    if (!protocolNames(thrown).includes("TOPIC_ALREADY_EXISTS")) throw thrown;
  }
}

export class MissingTopicError extends GpulseError {
  constructor(topic: string, target: KafkaTarget) {
    super(
      "KAFKA_REFUSED",
      `${target.shown}: there is no topic ${topic}. Create it, or write to it with --to kafka://…?create=true.`,
    );
  }
}

export interface WaitForTopicOptions {
  readonly target: KafkaTarget;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly random: () => number;
}

const remindEveryMs = 60_000;

/** Resolves when the topic exists or the signal aborts; rejects on a permanent error, such as denied access. */
export async function waitForTopic(
  client: KafkaClient,
  { target, log, nowMs, random }: WaitForTopicOptions,
  signal: AbortSignal,
): Promise<void> {
  let loggedMs = Number.NEGATIVE_INFINITY;
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      const topics = [target.topic];
      const once = { target, topics, create: undefined, withinMs: 1_000, nowMs, random };
      return await prepareTopics(client, once);
    } catch (thrown) {
      const isPassing =
        thrown instanceof MissingTopicError ||
        (thrown instanceof GpulseError && thrown.code === "KAFKA_UNREACHABLE");
      if (!isPassing) throw thrown;
      if (nowMs() - loggedMs >= remindEveryMs) {
        loggedMs = nowMs();
        log.warn("waiting for the topic", { of: target.shown, topic: target.topic });
      }
      await pause(backoffMs(attempt, random, { firstMs: 250, longestMs: 2_000 }), signal);
    }
  }
}
