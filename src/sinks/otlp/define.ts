/** `otlp+http://…` and `otlp+https://…`: sends metrics to an OpenTelemetry collector or any other OTLP/HTTP receiver. */
import * as v from "valibot";
import { defineSink, type SinkDefinition } from "../../pipeline/sink.ts";
import { samplesOptions } from "../samples-options.ts";

// A histogram's series must stay in one request: shards would separate them.
const { shards: _shards, ...common } = samplesOptions;

const define = (scheme: "http" | "https"): SinkDefinition =>
  defineSink({
    name: `otlp+${scheme}`,
    summary: `Sends metrics by OpenTelemetry's OTLP over ${scheme === "http" ? "HTTP" : "HTTPS"}, through a spool on disk.`,
    mainOption: "url",
    options: v.strictObject({
      ...common,
      encoding: v.optional(
        v.pipe(
          v.picklist(["protobuf", "json"], "protobuf or json"),
          v.description("Encoding of the request body."),
        ),
        "protobuf",
      ),
      names: v.optional(
        v.pipe(
          v.picklist(["own", "hw"], "own or hw"),
          v.description(
            "hw: OpenTelemetry's hw.gpu.* and hw.* names where they exist, else gpulse's names.",
          ),
        ),
        "own",
      ),
    }),
    examples: [
      {
        url: `otlp+${scheme}://collector:4318/v1/metrics`,
        description: "to an OpenTelemetry collector",
      },
      {
        url: `otlp+${scheme}://collector:4318/v1/metrics?encoding=json`,
        description: "as JSON, for debugging",
      },
      {
        url: `otlp+${scheme}://collector:4318/v1/metrics?names=hw`,
        description: "under OpenTelemetry's hardware names",
      },
    ],
    create: async (options, context) => {
      const { openOtlp } = await import("./open.ts");
      return openOtlp(scheme, options, context);
    },
  });

export const otlpHttp = define("http");
export const otlpHttps = define("https");
