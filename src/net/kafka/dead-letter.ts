/** Dead letters: the original bytes of an invalid message on the dead-letter topic, with the error in the headers. */
import type { DeadLetter } from "../../model/origin.ts";
import { deadLetterTopic, type KafkaTarget } from "./options.ts";
import type { KafkaProducer, OutgoingMessage } from "./producer.ts";

/** Below a topic's default message size limit, headers included; larger content is truncated and marked. */
const keptBytes = 1_000_000;

function letterMessage(
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

/** Sends dead letters to their topic, which is created for the first one. */
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

  /** Resolves when the cluster has acknowledged the letter. */
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
