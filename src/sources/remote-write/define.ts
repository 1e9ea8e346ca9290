/**
 * The source `remote-write+http://HOST:PORT`: samples that Prometheus, an agent or any other program sends by remote write, as frames.
 */
import * as v from "valibot";
import { defineSource } from "../source.ts";
import { resolveListeningOptions, listeningOptions } from "../listening-options.ts";

const name = "remote-write+http";

export const remoteWriteListener = defineSource({
  name,
  summary:
    "Listens for Prometheus's remote-write 1.0 and 2.0; responds after every sink has stored the samples.",
  mainOption: "address",
  options: v.strictObject(listeningOptions),
  examples: [
    {
      url: "remote-write+http://127.0.0.1:9201",
      description: "from this machine, to /api/v1/write",
    },
    {
      url: "remote-write+http://0.0.0.0:9201?token=${WRITE_TOKEN}",
      description: "from anywhere, with a token",
    },
  ],
  auto: false,
  doctor: () =>
    Promise.resolve({
      state: "not-found",
      says: "It listens for senders: give an address, such as remote-write+http://127.0.0.1:9201.",
    }),
  create: async (options, context) => {
    const { openRemoteWriteListener } = await import("./open.ts");
    return openRemoteWriteListener(
      name,
      resolveListeningOptions(name, options, 9_201),
      context.log,
    );
  },
});
