/** What can never become a frame, as a message of the topic beside: its bytes as they came, and why in its headers. */
import type { DeadLetter } from "../../model/origin.ts";
import { deadLetterTopic, type KafkaTarget } from "./options.ts";
import type { KafkaProducer, OutgoingMessage } from "./producer.ts";

/** Below what a topic takes by default, headers and all; the rest of a larger one is cut off, and said. */
const keptBytes = 1_000_000;

export function letterMessage(
  { content, reason, source, origin }: DeadLetter,
  target: KafkaTarget,
  key = "",
): OutgoingMessage {
  return {
    topic: deadLetterTopic(target.topic),
    key: key === "" ? source : key,
    value: Buffer.from(content.subarray(0, keptBytes)),
    headers: {
      error: reason.slice(0, 1_000),
      source,
      ...(origin !== undefined && {
        "source-topic": origin.log,
        "source-partition": String(origin.partition),
        "source-offset": String(origin.offset),
      }),
      ...(content.length > keptBytes && { "cut-off-bytes": String(content.length - keptBytes) }),
    },
  };
}

/** Keeps letters in their topic, which is made with the first of them. */
export class DeadLetterProducer {
  readonly #target: KafkaTarget;
  readonly #producer: KafkaProducer;
  readonly #prepare: (topic: string) => Promise<void>;
  #prepared: Promise<void> | undefined;
  #kept = 0;

  constructor(
    target: KafkaTarget,
    producer: KafkaProducer,
    prepare: (topic: string) => Promise<void>,
  ) {
    this.#target = target;
    this.#producer = producer;
    this.#prepare = prepare;
  }

  get kept(): number {
    return this.#kept;
  }

  /** Resolves when the cluster has it. */
  async keep(letter: DeadLetter, key?: string): Promise<void> {
    this.#prepared ??= this.#prepare(deadLetterTopic(this.#target.topic));
    try {
      await this.#prepared;
    } catch (thrown) {
      this.#prepared = undefined;
      throw thrown;
    }
    await this.#producer.add(letterMessage(letter, this.#target, key));
    await this.#producer.flush();
    this.#kept++;
  }
}
