/**
 * Redacts a configuration for display: the same file with every secret replaced by `<secret>` and without comments, since
 * comments often contain a password.
 */
import type * as v from "valibot";
import { getMetadata } from "valibot";
import { channels } from "./list.ts";
import { globalSchema } from "./global.ts";

const redacted = "<secret>";

/** Names that are secrets anywhere in the file, as in http_config and sigv4. */
const secretName =
  /^(key|secrets?|credentials|bearer_token|proxy_url|proxy_connect_header|.*(password|passwd|secret|token|_key|webhook_url))$/;

/** The keys of a schema that hold secrets. */
function secretKeys(schema: v.GenericSchema): ReadonlySet<string> {
  const { entries = {} } = schema as {
    readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  };
  return new Set(Object.entries(entries).flatMap(([key, entry]) => (isSecret(entry) ? [key] : [])));
}

function isSecret(schema: v.GenericSchema): boolean {
  const { wrapped } = schema as { readonly wrapped?: v.GenericSchema };
  const inner = wrapped ?? schema;
  return "pipe" in inner && getMetadata(inner as v.GenericSchema)["field"] === "secret";
}

const globalSecrets = secretKeys(globalSchema);
const channelSecrets = new Map(
  channels.map(({ name, options }) => [`${name}_configs`, secretKeys(options)]),
);
const noSecrets: ReadonlySet<string> = new Set();

export async function redactConfig(source: string): Promise<string> {
  const { parse, stringify } = await import("../../config/yaml.ts");
  const value = parse(source, { schema: "failsafe", merge: true, maxAliasCount: 1_000 }) as unknown;
  if (!isMapping(value)) return "";
  const { global, receivers, ...rest } = value;
  const readable = {
    ...(global === undefined ? {} : { global: hidden(global, globalSecrets) }),
    ...rest,
    ...(Array.isArray(receivers) ? { receivers: receivers.map(redactReceiver) } : {}),
  };
  return stringify(readable, { lineWidth: 0, aliasDuplicateObjects: false });
}

function redactReceiver(receiver: unknown): unknown {
  if (!isMapping(receiver)) return receiver;
  return Object.fromEntries(
    Object.entries(receiver).map(([key, entries]) => {
      const hide = (entry: unknown): unknown => hidden(entry, channelSecrets.get(key) ?? noSecrets);
      return [key, Array.isArray(entries) ? entries.map(hide) : entries];
    }),
  );
}

function hidden(value: unknown, secrets: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => hidden(item, secrets));
  if (typeof value === "string") return withoutPassword(value);
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      secrets.has(key) || secretName.test(key) ? hiddenWhole(item) : hidden(item, noSecrets),
    ]),
  );
}

function hiddenWhole(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hiddenWhole);
  if (isMapping(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hiddenWhole(item)]));
  return value === null || value === "" ? value : redacted;
}

/** Redacts the password of a URL with a user in it. */
const withoutPassword = (text: string): string =>
  text.replace(/(\/\/[^/\s:@]*):[^/\s@]+@/g, `$1:${redacted}@`);

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
