/** `hub+http://` and `hub+https://`: pushes frames to a gpulse hub. */
import * as v from "valibot";
import { durationMs, text, wholeNumber } from "../../config/fields.ts";
import { labelValue } from "../../model/labels.ts";
import { defineSink, type SinkDefinition } from "../../pipeline/sink.ts";

const day = 86_400_000;
const defaultSpoolBytes = 512 * 2 ** 20;

const options = v.strictObject({
  url: v.pipe(text("an address such as //hub:9410"), v.description("Address of the hub.")),
  token: v.optional(
    v.pipe(
      text("a token, or file:PATH"),
      v.description("Token with the push scope, or `file:PATH`."),
    ),
  ),
  ca_file: v.optional(
    v.pipe(text("a file"), v.description("CA that signed the hub's certificate.")),
  ),
  cert_file: v.optional(v.pipe(text("a file"), v.description("Client certificate, for mTLS."))),
  key_file: v.optional(v.pipe(text("a file"), v.description("Its key."))),
  job: v.optional(v.pipe(text("a name"), v.description("The `job` label. Default: gpulse."))),
  instance: v.optional(
    v.pipe(text("a name"), v.description("The `instance` label, and the agent's name on the hub.")),
  ),
  spool_bytes: v.optional(
    v.pipe(
      wholeNumber(1_048_576, 2 ** 40),
      v.description("Size limit of the spool on disk; the oldest records are dropped."),
    ),
    defaultSpoolBytes,
  ),
  spool_age: v.optional(
    v.pipe(durationMs(60_000, 365 * day), v.description("Maximum age of records in the spool.")),
    "7d",
  ),
});

const define = (scheme: "http" | "https"): SinkDefinition<typeof options> =>
  defineSink({
    name: `hub+${scheme}`,
    summary:
      "Pushes compact frames to a gpulse hub through a disk spool: an outage loses nothing until the spool is full.",
    mainOption: "url",
    options,
    examples: [
      { url: `hub+${scheme}://hub:9410`, description: "to a hub" },
      {
        url: `hub+${scheme}://hub:9410?token=file:/etc/gpulse/token`,
        description: "with a token from a file",
      },
    ],
    create: async (given, context) => {
      const { openHubRelay, openHubSink } = await import("./open.ts");
      const { token, ca_file: ca, cert_file: cert, key_file: key, job, instance } = given;
      const address = {
        url: `${scheme}:${given.url}`,
        ...(token === undefined ? {} : { token }),
        ...(ca === undefined ? {} : { caFile: ca }),
        ...(cert === undefined ? {} : { certFile: cert }),
        ...(key === undefined ? {} : { keyFile: key }),
        ...(job === undefined ? {} : { job }),
        ...(instance === undefined ? {} : { instance }),
        intervalMs: 1_000,
        spoolMaxBytes: given.spool_bytes,
        spoolAgeMs: given.spool_age,
      };
      if (context.isHub === true) return openHubRelay(address, context);
      const identity = {
        job: labelValue(context.identity, "job") ?? "gpulse",
        instance: labelValue(context.identity, "instance") ?? `${context.hostName}:9400`,
      };
      return openHubSink(address, { ...context, identity });
    },
  });

export const hubHttp = define("http");
export const hubHttps = define("https");
