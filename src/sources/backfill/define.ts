/**
 * The sources `prometheus+http://…` and `influxdb+http://…`: another engine's stored data as frames, to fill a lake or any other sink.
 */
import * as v from "valibot";
import { durationMs, text } from "../../config/fields.ts";
import { defineSource, type SourceDefinition } from "../source.ts";

const instantTakes = "an instant such as 2026-01-31 or 2026-01-31T12:00:00Z";
const instant = (description: string) =>
  v.optional(
    v.pipe(
      text(instantTakes),
      v.transform((given) => Date.parse(given)),
      v.check((ms) => Number.isFinite(ms), instantTakes),
      v.description(description),
    ),
  );

const common = {
  start: instant("Start time; required."),
  end: instant("End time. Default: now."),
  window: v.optional(
    v.pipe(durationMs(60_000, 86_400_000), v.description("Time range of one request.")),
    "1h",
  ),
};

const whose = {
  username: v.optional(v.pipe(text(), v.description("Who asks."))),
  password: v.optional(v.pipe(text(), v.description("Best as ${VARIABLE} or file:PATH."))),
};

const prometheus = (scheme: "http" | "https"): SourceDefinition =>
  defineSource({
    name: `prometheus+${scheme}`,
    summary: "The history of a Prometheus or anything with its API, read by query_range.",
    mainOption: "address",
    options: v.strictObject({
      address: v.optional(v.pipe(text("//HOST:PORT"), v.description("The server."))),
      match: v.optional(
        v.pipe(text("a selector"), v.description("PromQL selector of the series.")),
        '{__name__=~"gpu_.+|host_.+|ml_.+"}',
      ),
      step: v.optional(
        v.pipe(durationMs(1_000, 86_400_000), v.description("Step between timestamps.")),
        "15s",
      ),
      ...common,
      ...whose,
    }),
    examples: [
      {
        url: `prometheus+${scheme}://prometheus:9090?start=2026-01-01&end=2026-02-01&step=30s`,
        description: "January, every 30 seconds",
      },
    ],
    auto: false,
    doctor: async () => ({
      state: "not-found",
      says: `Name one: prometheus+${scheme}://HOST:9090.`,
    }),
    create: async (options) => {
      const { openPrometheus } = await import("./open.ts");
      return openPrometheus(scheme, options);
    },
  });

const influxDb = (scheme: "http" | "https"): SourceDefinition =>
  defineSource({
    name: `influxdb+${scheme}`,
    summary: "The history of an InfluxDB in one of the presets, read by InfluxQL.",
    mainOption: "address",
    options: v.strictObject({
      address: v.optional(
        v.pipe(text("//HOST:PORT/DATABASE"), v.description("Server and database.")),
      ),
      measurement: v.optional(
        v.pipe(text("a measurement"), v.description("Measurement. Default: gpu_metrics or gpu.")),
      ),
      ...common,
      ...whose,
    }),
    examples: [
      {
        url: `influxdb+${scheme}://influxdb:8086/metrics?start=2026-01-01`,
        description: "from New Year on",
      },
    ],
    auto: false,
    doctor: async () => ({
      state: "not-found",
      says: `Name one: influxdb+${scheme}://HOST:8086/DB.`,
    }),
    create: async (options) => {
      const { openInfluxDb } = await import("./open.ts");
      return openInfluxDb(scheme, options);
    },
  });

export const prometheusHttp = prometheus("http");
export const prometheusHttps = prometheus("https");
export const influxDbHttp = influxDb("http");
export const influxDbHttps = influxDb("https");
