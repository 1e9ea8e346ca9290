/** `influxdb://…` and `influxdbs://…`: sends points to InfluxDB in its line protocol, over the v1 or v2 write API. */
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../../config/fields.ts";
import { defineSink, type SinkDefinition } from "../../pipeline/sink.ts";
import { pairs } from "../samples-options.ts";
import { presets } from "./names.ts";

export const influxOptions = v.strictObject({
  address: v.pipe(
    text("an address such as //host:8086/DATABASE"),
    v.description("Server, and database (API 1) or bucket (API 2)."),
  ),
  version: v.optional(
    v.pipe(
      wholeNumber(1, 2),
      v.description("Version of the write API. Default: 2 with an org or a token, else 1."),
    ),
  ),
  rp: v.optional(v.pipe(text("a retention policy"), v.description("API 1: retention policy."))),
  username: v.optional(v.pipe(text(), v.description("API 1: user name."))),
  password: v.optional(
    v.pipe(text(), v.description("Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  org: v.optional(v.pipe(text("an organisation"), v.description("API 2: organization."))),
  token: v.optional(
    v.pipe(text(), v.description("API 2: token. Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  create: v.optional(
    v.pipe(flag(), v.description("API 1: create the database if it does not exist.")),
    false,
  ),
  preset: v.optional(
    v.pipe(
      v.picklist(presets, `one of ${presets.join(", ")}`),
      v.description(
        "gpulse: gpulse's names. gpuz: all fields in gpu_metrics, such as gpu_temperature, board_power …",
      ),
    ),
    "gpulse",
  ),
  measurement: v.optional(
    v.pipe(
      text("a measurement"),
      v.description("Measurement of every line, instead of the preset's."),
    ),
  ),
  fields: v.optional(
    v.pipe(pairs(), v.description("Renamed fields: the preset's name=new name.")),
    {},
  ),
  tags: v.optional(v.pipe(pairs(), v.description("Additional tags for every line.")), {}),
  "batch-bytes": v.optional(
    v.pipe(wholeNumber(1_024, 2 ** 26), v.description("Maximum bytes per request.")),
    500_000,
  ),
  linger: v.optional(
    v.pipe(durationMs(0, 60_000), v.description("Maximum time a batch waits for more.")),
    "200ms",
  ),
  gzip: v.optional(v.pipe(flag(), v.description("Compress requests.")), true),
  refused: v.optional(
    v.pipe(
      v.picklist(["skip", "stop"], "skip or stop"),
      v.description("What to do with a line that the server rejects: skip and count it, or stop."),
    ),
    "skip",
  ),
  timeout: v.optional(
    v.pipe(durationMs(100, 600_000), v.description("Timeout of one request.")),
    "30s",
  ),
  ca_file: v.optional(v.pipe(text("a file"), v.description("CA certificates to trust, PEM."))),
  insecure: v.optional(
    v.pipe(flag(), v.description("Skip certificate verification; only for trusted networks.")),
    false,
  ),
});

const define = (scheme: "influxdb" | "influxdbs"): SinkDefinition =>
  defineSink({
    name: scheme,
    summary: `Points to InfluxDB 1, 2 and 3, or any receiver of its line protocol, ${scheme === "influxdb" ? "without TLS" : "over TLS"}.`,
    mainOption: "address",
    options: influxOptions,
    examples: [
      {
        url: `${scheme}://influx:8086/gpu?create=true&preset=gpuz`,
        description: "to a database, under the usual names of GPU-Z logs",
      },
      {
        url: `${scheme}://influx:8086/gpu?org=lab&token=\${INFLUX_TOKEN}`,
        description: "to a bucket, by API 2",
      },
    ],
    create: async (given, context) => {
      const { openInfluxSink } = await import("./open.ts");
      return openInfluxSink(scheme === "influxdb" ? "http" : "https", given, context);
    },
  });

export const influxdb = define("influxdb");
export const influxdbs = define("influxdbs");
