/**
 * `kafka://BROKERS/TOPIC`: sends one message per GPU and timestamp, in order for each GPU, resent until it is
 * acknowledged.
 */
import * as v from "valibot";
import { durationMs, flag, wholeNumber } from "../../config/fields.ts";
import { clusterOptions } from "../../net/kafka/options.ts";
import { compressions } from "../../net/kafka/producer.ts";
import { registryOptions, subjectOptions } from "../../net/kafka/registry.ts";
import { defineSink } from "../../pipeline/sink.ts";

export const kafkaSink = defineSink({
  name: "kafka",
  summary:
    "Messages to a Kafka topic, keyed by GPU, in batches; the producer is idempotent, so a retried batch is stored once.",
  mainOption: "address",
  options: v.strictObject({
    ...clusterOptions,
    ...registryOptions,
    ...subjectOptions,
    format: v.optional(
      v.pipe(
        v.picklist(["json", "avro", "frames"], "json, avro or frames"),
        v.description(
          "JSON, Avro with a schema of registry=, or compact binary frames that only gpulse reads.",
        ),
      ),
      "json",
    ),
    compression: v.optional(
      v.pipe(
        v.picklist(compressions, `one of ${compressions.join(", ")}`),
        v.description("Compression of batches; zstd needs Node 22.15 or later."),
      ),
      "gzip",
    ),
    acks: v.optional(
      v.pipe(
        v.picklist(["all", "1"], "all or 1"),
        v.description("Required acknowledgements: all in-sync replicas, or the leader only."),
      ),
      "all",
    ),
    batch: v.optional(
      v.pipe(wholeNumber(1, 100_000), v.description("Maximum messages per request.")),
      2_000,
    ),
    "batch-bytes": v.optional(
      v.pipe(
        wholeNumber(1_024, 64 * 1_024 * 1_024),
        v.description("Maximum bytes per request, before compression."),
      ),
      900_000,
    ),
    linger: v.optional(
      v.pipe(durationMs(0, 60_000), v.description("Maximum time a batch waits for more.")),
      "50ms",
    ),
    create: v.optional(
      v.pipe(flag(), v.description("Create the topic if it does not exist.")),
      false,
    ),
    partitions: v.optional(
      v.pipe(
        wholeNumber(1, 10_000),
        v.description("Partitions of a created topic: the maximum number of parallel readers."),
      ),
      6,
    ),
    replication: v.optional(
      v.pipe(
        wholeNumber(-1, 32),
        v.description("Replication factor of a created topic; -1 is the cluster's default."),
      ),
      -1,
    ),
    timeout: v.optional(
      v.pipe(
        durationMs(500, 600_000),
        v.description("How long to try to reach a broker at the start."),
      ),
      "15s",
    ),
  }),
  examples: [
    { url: "kafka://localhost:9092/gpu-metrics", description: "to an existing topic" },
    {
      url: "kafka://a:9093,b:9093/gpu-metrics?create=true&partitions=12&compression=lz4&tls=true&username=gpulse&password=${KAFKA_PASSWORD}",
      description: "over TLS with a login; creates the topic",
    },
    {
      url: "kafka://localhost:9092/gpu-metrics?format=avro&registry=http://localhost:8081",
      description: "in Avro, with the schema in a registry",
    },
  ],
  create: async (options, context) => {
    const { openKafkaSink } = await import("./open.ts");
    return openKafkaSink(options, context);
  },
});
