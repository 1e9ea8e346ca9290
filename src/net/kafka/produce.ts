/**
 * The client's producer with a produce request of our own, compressed by gzip in Node's thread pool. Connections, metadata,
 * producer ids, sequences, retries and answers remain the client's.
 */
import type * as Client from "@platformatic/kafka";
import { type AheadCompressor, compressRecords } from "./ahead.ts";
import type { KafkaClient } from "./client.ts";
import { type BatchRecord, encodeBatch, encodeRecords } from "./record-batch.ts";
import type { Compression } from "./producer.ts";

interface ProducedRecord extends BatchRecord {
  readonly topic: string;
  readonly partition: number;
}

/** What the client's producer gives to a version of its produce API. */
interface ProduceOptions {
  readonly compression: Compression;
  readonly producerId: bigint | undefined;
  readonly producerEpoch: number | undefined;
  readonly sequences:
    | { readonly getWithDefault: (key: string, value: number) => number }
    | undefined;
}

type Answer = (error: Error | null, response?: unknown) => void;

type Produce = (
  connection: Client.Connection,
  acks: number,
  timeout: number,
  records: readonly ProducedRecord[],
  options: ProduceOptions,
  answer: Answer,
) => void;

type ProduceApi = Produce & { readonly version: number };

/** Brokers before 2.5 get the client's own requests: earlier versions of the request have another form. */
const oldestVersion = 9;

export function openProducer(
  client: KafkaClient,
  options: Client.ProducerOptions<Buffer, Buffer, Buffer, Buffer>,
  ahead: AheadCompressor,
): Client.Producer {
  const producer = new client.Producer(options);
  const getApi = producer[client.kGetApi].bind(producer) as unknown as (
    name: string,
    answer: (error: Error | null, api?: ProduceApi) => void,
  ) => void;
  const own = new Map<number, ProduceApi>();
  Object.assign(producer, {
    [client.kGetApi](name: string, answer: (error: Error | null, api?: ProduceApi) => void): void {
      getApi(name, (error, api) => {
        if (name !== "Produce" || api === undefined || api.version < oldestVersion)
          return answer(error, api);
        const made = own.get(api.version) ?? produceApi(client, ahead, api.version);
        own.set(api.version, made);
        answer(null, made);
      });
    },
  });
  return producer;
}

function produceApi(client: KafkaClient, ahead: AheadCompressor, version: number): ProduceApi {
  const { parseResponse } =
    version === 9 ? client.produceV9 : version === 10 ? client.produceV10 : client.produceV11;
  const produce: Produce = (connection, acks, timeout, records, options, answer) => {
    const send = (topics: PackedTopics): void =>
      connection.send(
        0,
        version,
        () => writeRequest(client, acks, timeout, topics),
        parseResponse,
        true,
        true,
        answer,
      );
    packTopics(client, ahead, records, options).then(send, answer);
  };
  return Object.assign(produce, { version });
}

/** Record batches by topic and partition. */
type PackedTopics = readonly (readonly [topic: string, (readonly [partition: number, Buffer])[]])[];

async function packTopics(
  client: KafkaClient,
  ahead: AheadCompressor,
  records: readonly ProducedRecord[],
  { compression, producerId = -1n, producerEpoch = 0, sequences }: ProduceOptions,
): Promise<PackedTopics> {
  const { compressSync, bitmask } = client.compressionsAlgorithms[compression];
  const topics = new Map<string, Map<number, ProducedRecord[]>>();
  for (const record of records) {
    const partitions = topics.get(record.topic) ?? new Map<number, ProducedRecord[]>();
    topics.set(record.topic, partitions);
    const some = partitions.get(record.partition);
    if (some === undefined) partitions.set(record.partition, [record]);
    else some.push(record);
  }
  const packBatch = async (topic: string, partition: number, some: ProducedRecord[]) => {
    if (compression === "gzip") ahead.learn(topic, partition, some);
    const packed = await (compression === "gzip"
      ? (ahead.find(some) ?? compressRecords(some))
      : compressSync(encodeRecords(some)));
    return [
      partition,
      encodeBatch(packed, some.length, {
        timeMs: Date.now(),
        attributes: bitmask,
        producerId,
        producerEpoch,
        firstSequence: sequences?.getWithDefault(`${topic}:${partition}`, 0) ?? 0,
        crc32c: client.crc32c,
      }),
    ] as const;
  };
  return Promise.all(
    [...topics].map(async ([topic, partitions]) => [
      topic,
      await Promise.all([...partitions].map(([at, some]) => packBatch(topic, at, some))),
    ]),
  );
}

/**
 *   Produce, versions 9 to 11: transactional id · acks int16 · timeout int32 · (topic · (partition int32 · record batch)*)*
 */
function writeRequest(
  client: KafkaClient,
  acks: number,
  timeout: number,
  topics: PackedTopics,
): Client.Writer {
  return client.Writer.create()
    .appendString(null)
    .appendInt16(acks)
    .appendInt32(timeout)
    .appendArray([...topics], (writer, [topic, partitions]) =>
      writer.appendString(topic).appendArray(partitions, (inner, [partition, batch]) => {
        inner.appendInt32(partition).appendBytes(batch);
      }),
    )
    .appendTaggedFields();
}
