/** The source `kafka://BROKERS/TOPIC`: reads a topic's messages as frames, as a member of a consumer group. */
import * as v from "valibot";
import { durationMs, text } from "../../config/fields.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { clusterOptions } from "../../net/kafka/options.ts";
import { registryOptions } from "../../net/kafka/registry.ts";
import { defineSource } from "../source.ts";

export const kafkaSource = defineSource({
  name: "kafka",
  summary:
    "Messages of a Kafka topic, JSON, Avro or binary, shared with every other process of the same group.",
  mainOption: "address",
  options: v.strictObject({
    ...clusterOptions,
    ...registryOptions,
    // Optional only here: `doctor` probes every source without an address.
    address: v.optional(clusterOptions.address),
    group: v.optional(
      v.pipe(
        text("a name"),
        v.maxLength(249, "a name of at most 249 characters"),
        v.description(
          "Consumer group: its processes share the partitions and continue at the committed offsets.",
        ),
      ),
      "gpulse",
    ),
    from: v.optional(
      v.pipe(
        v.picklist(["earliest", "latest"], "earliest or latest"),
        v.description("Where a new group begins."),
      ),
      "earliest",
    ),
    until: v.optional(
      v.pipe(
        v.picklist(["end", "stopped"], "end or stopped"),
        v.description("end: stop after all records that existed at the start."),
      ),
      "stopped",
    ),
    session: v.optional(
      v.pipe(
        durationMs(1_000, 1_800_000),
        v.description(
          "Session timeout: after it, the partitions of a silent process are reassigned; brokers require 6s or more.",
        ),
      ),
      "10s",
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
    {
      url: "kafka://localhost:9092/gpu-metrics?group=lake",
      description: "as a member of the group lake, from the topic's start",
    },
    {
      url: "kafka://localhost:9092/gpu-metrics?group=backfill&until=end",
      description: "all existing records, then stop",
    },
    {
      url: "kafka://localhost:9092/gpu-metrics?registry=http://localhost:8081",
      description: "also Avro messages, with the schemas of a registry",
    },
  ],
  auto: false,
  doctor: async (options, context) => {
    if (options.address === undefined)
      return {
        state: "not-found",
        says: "No topic given. Write kafka://BROKER:9092/TOPIC.",
      };
    try {
      const { openTopic } = await import("./source.ts");
      await openTopic({ ...options, address: options.address }, context);
      return { state: "found", says: "A broker responds and has the topic." };
    } catch (thrown) {
      return { state: "failed", says: formatError(thrown) };
    }
  },
  create: async (options, context) => {
    if (options.address === undefined)
      throw new GpulseError(
        "SOURCE_OPTIONS",
        "kafka: needs a broker and a topic: write kafka://BROKER:9092/TOPIC.",
      );
    const { openKafkaSource } = await import("./source.ts");
    return openKafkaSource({ ...options, address: options.address }, context);
  },
});
