/** `remote-write+http://…` and `remote-write+https://…`: sends samples to any Prometheus remote-write receiver. */
import * as v from "valibot";
import { defineSink, type SinkDefinition } from "../../pipeline/sink.ts";
import { samplesOptions } from "../samples-options.ts";

const define = (scheme: "http" | "https"): SinkDefinition =>
  defineSink({
    name: `remote-write+${scheme}`,
    summary: `Sends samples by Prometheus's remote-write over ${scheme === "http" ? "HTTP" : "HTTPS"}, through a spool on disk.`,
    mainOption: "url",
    options: v.strictObject({
      ...samplesOptions,
      version: v.optional(
        v.pipe(
          v.picklist(["1", "2"], "1 or 2"),
          v.description("Version of the remote-write protocol."),
        ),
        "1",
      ),
    }),
    examples: [
      {
        url: `remote-write+${scheme}://prometheus:9090/api/v1/write`,
        description: "to a Prometheus that runs with --web.enable-remote-write-receiver",
      },
      {
        url: `remote-write+${scheme}://victoria-metrics:8428/api/v1/write?labels=site=berlin&shards=4`,
        description: "with an additional label on every series, in four shards",
      },
    ],
    create: async (options, context) => {
      const { openRemoteWrite } = await import("./open.ts");
      return openRemoteWrite(scheme, options, context);
    },
  });

export const remoteWriteHttp = define("http");
export const remoteWriteHttps = define("https");
