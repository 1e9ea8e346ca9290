/** `influxdb://…` and `influxdbs://…`: sends points to InfluxDB in its line protocol, over the v1 or v2 write API. */
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../../config/fields.ts";
import { defineSink, type SinkDefinition } from "../../pipeline/sink.ts";
import { pairs } from "../samples-options.ts";
import { presets } from "./names.ts";

export const influxOptions = v.strictObject({
  address: v.pipe(
    text("an address such as //host:8086/DATABASE"),
    v.description("The server, and the database (first API) or bucket (second)."),
  ),
  version: v.optional(
    v.pipe(
      wholeNumber(1, 2),
      v.description("Which write API; 2 where an org or a token is given, else 1."),
    ),
  ),
  rp: v.optional(
    v.pipe(text("a retention policy"), v.description("First API: the retention policy.")),
  ),
  username: v.optional(v.pipe(text(), v.description("First API: who writes."))),
  password: v.optional(
    v.pipe(text(), v.description("Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  org: v.optional(v.pipe(text("an organisation"), v.description("Second API: whose bucket."))),
  token: v.optional(
    v.pipe(text(), v.description("Second API. Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  create: v.optional(
    v.pipe(flag(), v.description("First API: make the database where it is not there.")),
    false,
  ),
  preset: v.optional(
    v.pipe(
      v.picklist(presets, `one of ${presets.join(", ")}`),
      v.description(
        "gpulse: our names. gpuz: all in gpu_metrics, as gpu_temperature, board_power …",
      ),
    ),
    "gpulse",
  ),
  measurement: v.optional(
    v.pipe(text("a measurement"), v.description("For every line, instead of the preset's.")),
  ),
  fields: v.optional(
    v.pipe(pairs(), v.description("Other names for fields: the preset's name=another.")),
    {},
  ),
  tags: v.optional(v.pipe(pairs(), v.description("Further tags for every line.")), {}),
  "batch-bytes": v.optional(
    v.pipe(wholeNumber(1_024, 2 ** 26), v.description("The most bytes in one request.")),
    500_000,
  ),
  linger: v.optional(
    v.pipe(durationMs(0, 60_000), v.description("How long a batch waits for more.")),
    "200ms",
  ),
  gzip: v.optional(v.pipe(flag(), v.description("Compress requests.")), true),
  refused: v.optional(
    v.pipe(
      v.picklist(["skip", "stop"], "skip or stop"),
      v.description("What a line the server refuses does: is left out and counted, or ends it."),
    ),
    "skip",
  ),
  timeout: v.optional(
    v.pipe(durationMs(100, 600_000), v.description("How long one request may take.")),
    "30s",
  ),
  ca_file: v.optional(v.pipe(text("a file"), v.description("Certificates to trust, PEM."))),
  insecure: v.optional(
    v.pipe(flag(), v.description("Take any certificate: for a network that is trusted itself.")),
    false,
  ),
});

const define = (scheme: "influxdb" | "influxdbs"): SinkDefinition =>
  defineSink({
    name: scheme,
    summary: `Points to InfluxDB 1, 2 and 3, or what takes its line protocol, ${scheme === "influxdb" ? "in the clear" : "over TLS"}.`,
    mainOption: "address",
    options: influxOptions,
    examples: [
      {
        url: `${scheme}://influx:8086/gpu?create=true&preset=gpuz`,
        description: "to a database, under the names GPU-Z logs are usually kept by",
      },
      {
        url: `${scheme}://influx:8086/gpu?org=lab&token=\${INFLUX_TOKEN}`,
        description: "to a bucket, by the second API",
      },
    ],
    create: async (given, context) => {
      const { openInfluxSink } = await import("./open.ts");
      return openInfluxSink(scheme === "influxdb" ? "http" : "https", given, context);
    },
  });

export const influxdb = define("influxdb");
export const influxdbs = define("influxdbs");
