/** The options shared by all sources that listen. */
import * as v from "valibot";
import { text, wholeNumber } from "../config/fields.ts";
import { fillSecrets } from "../config/secrets.ts";
import { GpulseError } from "../base/error.ts";
import { isLoopback } from "../net/http/address-ranges.ts";
import { Secret } from "../net/http/secret.ts";
import type { ListeningOptions } from "./listening.ts";

export const listeningOptions = {
  address: v.optional(
    v.pipe(
      text("//HOST:PORT"),
      v.description("The address to listen on. 127.0.0.1 accepts only local senders."),
    ),
  ),
  token: v.optional(
    v.pipe(
      text(),
      v.description("The bearer token that senders must present. Prefer ${VARIABLE} or file:PATH."),
    ),
  ),
  "max-body": v.optional(
    v.pipe(
      wholeNumber(1_024, 2 ** 28),
      v.description("The size limit of one decompressed request, in bytes."),
    ),
    32 * 2 ** 20,
  ),
  "max-held": v.optional(
    v.pipe(
      wholeNumber(1_024, 2 ** 32),
      v.description(
        "The size limit of accepted but undelivered data, in bytes; above it senders get 503.",
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
      `"${name}:${address}" is not a listen address: write ${name}://127.0.0.1:${defaultPort}.`,
    );
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const given = { token: options.token };
  const { token } = fillSecrets(given, { env: process.env, folder: process.cwd() })
    .value as typeof given;
  if (!isLoopback(host) && token === undefined)
    throw new GpulseError(
      "OPEN_TO_NETWORK",
      `${name} on ${host} would accept data from anyone: add token=\${VARIABLE}, or listen on 127.0.0.1.`,
    );
  return {
    host,
    // URL omits port 80, the scheme's default.
    port: Number(/:(\d+)\/?$/.exec(address)?.[1] ?? defaultPort),
    token: token === undefined ? undefined : new Secret(token),
    maxBodyBytes: options["max-body"],
    maxHeldBytes: options["max-held"],
  };
}
