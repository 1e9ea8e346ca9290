/** Sends frames to a topic, one message per GPU. Unacknowledged messages are held in memory and retried. */
import type { MessageInput } from "../../formats/message/encode.ts";
import { DeadLetterProducer } from "../../net/kafka/dead-letter.ts";
import type { KafkaTarget } from "../../net/kafka/options.ts";
import type { KafkaProducer, OutgoingMessage } from "../../net/kafka/producer.ts";
import type { DeadLetter } from "../../model/origin.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";

/** Returns the messages of a delivery in the sink's format. */
export type EncodeMessages = (delivery: {
  readonly input: MessageInput;
  readonly source: string;
}) => Omit<OutgoingMessage, "topic">[];

export interface KafkaSinkParts {
  readonly target: KafkaTarget;
  readonly encode: EncodeMessages;
  /** The host of frames that were read on this machine. */
  readonly hostName: string;
  readonly producer: KafkaProducer;
  /** Ensures that a topic exists. */
  readonly prepare: (topic: string) => Promise<void>;
}

const closeWithinMs = 10_000;

export class KafkaSink implements Sink {
  readonly name: string;
  readonly takesWhileFlushing = true;
  readonly #parts: KafkaSinkParts;
  readonly #letters: DeadLetterProducer;

  constructor(parts: KafkaSinkParts) {
    this.#parts = parts;
    this.name = `kafka:${parts.target.topic}`;
    this.#letters = new DeadLetterProducer(parts.target, parts.producer, parts.prepare);
  }

  write(delivery: Delivery): Promise<void> | void {
    const full: Promise<void>[] = [];
    for (const message of this.#messages(delivery)) {
      const room = this.#parts.producer.add(message);
      if (room !== undefined) full.push(room);
    }
    if (full.length > 0) return Promise.all(full).then(() => undefined);
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
    const { target, encode, hostName } = this.#parts;
    const input = { frame, devices, host: host ?? hostName, tags };
    return encode({ input, source }).map((message) => ({ topic: target.topic, ...message }));
  }
}
