/**
 * Messages to frames. What is no message goes to the dead letters before the next is read, so that it is neither lost nor in the
 * way; nothing is told to the group that was not handed on.
 */
import { BinaryDecoder, isBinary } from "../../formats/message/binary.ts";
import { MessageDecoder, type MessageDecodeResult } from "../../formats/message/decode.ts";
import type { DeadLetterProducer } from "../../net/kafka/dead-letter.ts";
import type { KafkaTarget } from "../../net/kafka/options.ts";
import type { KafkaProducer } from "../../net/kafka/producer.ts";
import type { IncomingMessage, TopicReader } from "../../net/kafka/reader.ts";
import type { Log } from "../../base/log.ts";
import type { Device } from "../../model/device.ts";
import type { Emit, SourceLag, StreamingSource } from "../source.ts";

export interface KafkaSourceParts {
  readonly target: KafkaTarget;
  readonly reader: TopicReader;
  readonly producer: KafkaProducer;
  readonly letters: DeadLetterProducer;
  readonly log: Log;
}

const closeWithinMs = 5_000;
const mostTags = 256;

export class KafkaSource implements StreamingSource {
  readonly shape = "streaming";
  readonly sharesWork = true;
  readonly #parts: KafkaSourceParts;
  readonly #json = new MessageDecoder();
  readonly #binary = new BinaryDecoder();
  readonly #devices = new Map<string, Device>();

  constructor(parts: KafkaSourceParts) {
    this.#parts = parts;
  }

  devices(): readonly Device[] {
    return [...this.#devices.values()];
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    await this.#parts.reader.run((message) => this.#take(message, emit), signal);
  }

  async commit(): Promise<void> {
    await this.#parts.reader.commit();
  }

  mark(): () => Promise<void> {
    const upTo = this.#parts.reader.mark();
    return () => this.#parts.reader.commit(upTo);
  }

  lag(): readonly SourceLag[] {
    const { topic } = this.#parts.target;
    return [...this.#parts.reader.lag()].map(([partition, records]) => ({
      log: topic,
      partition,
      records,
    }));
  }

  lettersKept(): number {
    return this.#parts.letters.kept;
  }

  async close(): Promise<void> {
    await this.#parts.reader.close();
    await this.#parts.producer.close(closeWithinMs);
  }

  async #take(message: IncomingMessage, emit: Emit): Promise<void> {
    const { target, letters, log } = this.#parts;
    const { partition, value } = message;
    const origin = { log: target.topic, partition, offset: Number(message.offset) };
    const decoded = this.#decode(message);
    if (!decoded.ok) {
      const { reason } = decoded;
      log.warn("a message went to the dead letters", {
        of: target.shown,
        partition,
        offset: origin.offset,
        reason,
      });
      const content = value ?? new Uint8Array();
      await letters.keep(
        { content, reason, source: "kafka", origin },
        message.key?.toString("utf8"),
      );
      return;
    }
    const { frame, host, devices, tags } = decoded.message;
    for (const device of devices) this.#devices.set(device.uuid, device);
    await emit(frame, { origin, host, devices, ...(tags !== undefined && { tags }) });
  }

  #decode({ value, headers }: IncomingMessage): MessageDecodeResult {
    const bytes = value ?? new Uint8Array();
    return isBinary(bytes) ? this.#binary.decode(bytes, tagsOf(headers)) : this.#json.decode(bytes);
  }
}

function tagsOf(headers: IncomingMessage["headers"]): readonly string[] {
  const found = headers.find(([name]) => name?.toString("utf8") === "tags")?.[1];
  const tags = found?.toString("utf8").split(",") ?? [];
  return tags.filter((tag) => tag !== "").slice(0, mostTags);
}
