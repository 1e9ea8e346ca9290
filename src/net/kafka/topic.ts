/** Checks that a topic exists before it is used, and creates it on request. */
import { GpulseError } from "../../base/error.ts";
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
  /** Also these beside the target's own. */
  readonly topics: readonly string[];
  /** Undefined: a missing topic is an error. */
  readonly create: TopicShape | undefined;
  readonly withinMs: number;
  readonly nowMs: () => number;
  readonly random: () => number;
}

/** @throws GpulseError where no broker answers in time, the topic is not there, or something is refused. */
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
            ? notThere(topic, target)
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

function notThere(topic: string, target: KafkaTarget): GpulseError {
  return new GpulseError(
    "KAFKA_REFUSED",
    `${target.shown}: there is no topic ${topic}. Create it, or let gpulse do it with create=true.`,
  );
}
