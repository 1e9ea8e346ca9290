/** The source `otlp+http://HOST:PORT`: metrics that an OpenTelemetry SDK or collector sends, as frames. */
import * as v from "valibot";
import { resolveListeningOptions, listeningOptions } from "../listening-options.ts";
import { defineSource } from "../source.ts";

const name = "otlp+http";

export const otlpListener = defineSource({
  name,
  summary: "Listens for OpenTelemetry metrics; responds after every sink has stored them.",
  mainOption: "address",
  options: v.strictObject(listeningOptions),
  examples: [
    { url: "otlp+http://127.0.0.1:4318", description: "from this machine, to /v1/metrics" },
    {
      url: "otlp+http://0.0.0.0:4318?token=${OTLP_TOKEN}",
      description: "from anywhere, with a token",
    },
  ],
  auto: false,
  doctor: () =>
    Promise.resolve({
      state: "not-found",
      says: "It listens for senders: give an address, such as otlp+http://127.0.0.1:4318.",
    }),
  create: async (options, context) => {
    const { openOtlpListener } = await import("./open.ts");
    return openOtlpListener(name, resolveListeningOptions(name, options, 4_318), context.log);
  },
});
