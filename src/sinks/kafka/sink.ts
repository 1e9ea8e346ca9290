/** Frames to a topic, a message for each GPU in them. Unacknowledged messages are held and retried. */
import { BinaryEncoder } from "../../formats/message/binary.ts";
import { MessageEncoder } from "../../formats/message/encode.ts";
import { DeadLetterProducer } from "../../net/kafka/dead-letter.ts";
import type { KafkaTarget } from "../../net/kafka/options.ts";
import type { KafkaProducer, OutgoingMessage } from "../../net/kafka/producer.ts";
import type { DeadLetter } from "../../model/origin.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";

export interface KafkaSinkParts {
  readonly target: KafkaTarget;
  readonly format: "json" | "frames";
  /** This machine, for frames that were read on it. */
  readonly hostName: string;
  readonly version: string;
  readonly producer: KafkaProducer;
  /** Sees that a topic is there. */
  readonly prepare: (topic: string) => Promise<void>;
}

const closeWithinMs = 10_000;

export class KafkaSink implements Sink {
  readonly name: string;
  readonly #parts: KafkaSinkParts;
  readonly #letters: DeadLetterProducer;
  readonly #json = new MessageEncoder();
  readonly #binary: BinaryEncoder;

  constructor(parts: KafkaSinkParts) {
    this.#parts = parts;
    this.name = `kafka:${parts.target.topic}`;
    this.#binary = new BinaryEncoder(parts.version);
    this.#letters = new DeadLetterProducer(parts.target, parts.producer, parts.prepare);
  }

  async write(delivery: Delivery): Promise<void> {
    for (const message of this.#messages(delivery)) await this.#parts.producer.add(message);
  }

  async flush(signal: AbortSignal): Promise<void> {
    await this.#parts.producer.flush(signal);
  }

  async reject(letter: DeadLetter): Promise<void> {
    await this.#letters.keep(letter);
  }

  async close(): Promise<void> {
    await this.#parts.producer.close(closeWithinMs);
  }

  #messages({ frame, devices, host, tags, source }: Delivery): OutgoingMessage[] {
    const { target, format, hostName } = this.#parts;
    const { topic } = target;
    const input = { frame, devices, host: host ?? hostName, tags };
    return format === "json"
      ? this.#json
          .encode(input)
          .map(({ key, value }) => ({ topic, key, value: Buffer.from(value) }))
      : this.#binary.encode(input, source).map(({ key, value, tags: found }) => ({
          topic,
          key,
          value,
          ...(found.length > 0 && { headers: { tags: found.join(",") } }),
        }));
  }
}
