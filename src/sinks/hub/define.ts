/** `hub+http://` and `hub+https://`: pushes frames to a gpulse hub. */
import * as v from "valibot";
import { durationMs, text, wholeNumber } from "../../config/fields.ts";
import { labelValue } from "../../model/labels.ts";
import { defineSink, type SinkDefinition } from "../../pipeline/sink.ts";

const day = 86_400_000;
const defaultSpoolBytes = 512 * 2 ** 20;

const options = v.strictObject({
  url: v.pipe(text("an address such as //hub:9410"), v.description("The hub's address.")),
  token: v.optional(
    v.pipe(text("a token, or file:PATH"), v.description("A token that may push, or `file:PATH`.")),
  ),
  ca_file: v.optional(v.pipe(text("a file"), v.description("CA of the hub's certificate."))),
  cert_file: v.optional(v.pipe(text("a file"), v.description("Our own certificate, for mTLS."))),
  key_file: v.optional(v.pipe(text("a file"), v.description("Its key."))),
  job: v.optional(
    v.pipe(text("a name"), v.description("The `job` label; gpulse where not given.")),
  ),
  instance: v.optional(
    v.pipe(text("a name"), v.description("The `instance` label, and the name the hub lists.")),
  ),
  spool_bytes: v.optional(
    v.pipe(
      wholeNumber(1_048_576, 2 ** 40),
      v.description("What may wait on disk; beyond it the oldest goes."),
    ),
    defaultSpoolBytes,
  ),
  spool_age: v.optional(
    v.pipe(durationMs(60_000, 365 * day), v.description("How long it may wait.")),
    "7d",
  ),
});

const define = (scheme: "http" | "https"): SinkDefinition<typeof options> =>
  defineSink({
    name: `hub+${scheme}`,
    summary:
      "Pushes frames to a hub of gpulse, compact and through a disk spool: an outage loses nothing until the spool's bound.",
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
