/** The options that every source which listens has in common, and what they come to. */
import * as v from "valibot";
import { text, wholeNumber } from "../config/fields.ts";
import { fillSecrets } from "../config/secrets.ts";
import { GpulseError } from "../base/error.ts";
import { Secret } from "../net/http/secret.ts";
import type { ListeningOptions } from "./listening.ts";

export const listeningOptions = {
  address: v.optional(
    v.pipe(
      text("//HOST:PORT"),
      v.description("Where to listen: this machine alone where it is 127.0.0.1."),
    ),
  ),
  token: v.optional(
    v.pipe(
      text(),
      v.description("What senders must show as a bearer token. Best as ${VARIABLE} or file:PATH."),
    ),
  ),
  "max-body": v.optional(
    v.pipe(wholeNumber(1_024, 2 ** 28), v.description("The most bytes of one request, unpacked.")),
    32 * 2 ** 20,
  ),
  "max-held": v.optional(
    v.pipe(
      wholeNumber(1_024, 2 ** 32),
      v.description(
        "What may wait to be kept, in bytes; beyond it senders are told to come again.",
      ),
    ),
    128 * 2 ** 20,
  ),
};

const schema = v.strictObject(listeningOptions);

export function resolveListeningOptions(
  name: string,
  options: v.InferOutput<typeof schema>,
  defaultPort: number,
): Pick<ListeningOptions, "host" | "port" | "token" | "maxBodyBytes" | "maxHeldBytes"> {
  const { address = `//127.0.0.1:${defaultPort}` } = options;
  const url = URL.canParse(`http:${address}`) ? new URL(`http:${address}`) : undefined;
  if (!address.startsWith("//") || url === undefined || url.hostname === "" || url.pathname !== "/")
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `"${name}:${address}" is no address to listen on: write ${name}://127.0.0.1:${defaultPort}.`,
    );
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isLoopback = host === "localhost" || host === "::1" || host.startsWith("127.");
  const given = { token: options.token };
  const { token } = fillSecrets(given, { env: process.env, folder: process.cwd() })
    .value as typeof given;
  if (!isLoopback && token === undefined)
    throw new GpulseError(
      "OPEN_TO_NETWORK",
      `${name} on ${host} would take data from anyone: add token=\${VARIABLE}, or listen on 127.0.0.1.`,
    );
  return {
    host,
    // A port that is the scheme's own is not in what URL gives.
    port: Number(/:(\d+)\/?$/.exec(address)?.[1] ?? defaultPort),
    token: token === undefined ? undefined : new Secret(token),
    maxBodyBytes: options["max-body"],
    maxHeldBytes: options["max-held"],
  };
}
