/** The options shared by all sinks that send samples over HTTP, and their conversion. */
import { createHash } from "node:crypto";
import path from "node:path";
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../config/fields.ts";
import { GpulseError } from "../base/error.ts";
import type { HttpClientConfig } from "../net/http/auth-config.ts";
import { Secret } from "../net/http/secret.ts";
import { type LabelSet, labelSet } from "../model/labels.ts";
import type { SinkContext } from "../pipeline/sink.ts";
import type { RelabelInput } from "../formats/relabel/rule.ts";
import type { SamplesSinkOptions } from "./samples-sink.ts";

const pairsTake = "a mapping, or name=value,name=value";

/** Accepts a mapping in gpulse.yaml, or `name=value,name=value` in a URL. */
export const pairs = () =>
  v.pipe(
    v.union([v.string(pairsTake), v.record(v.string(), v.string(pairsTake))], pairsTake),
    v.transform((given) =>
      typeof given === "string"
        ? Object.fromEntries(given.split(",").map((pair) => split(pair)))
        : given,
    ),
    v.check((given) => Object.keys(given).every((name) => name !== ""), pairsTake),
    v.metadata({ takes: pairsTake }),
  );

function split(pair: string): readonly [string, string] {
  const at = pair.indexOf("=");
  return at === -1 ? ["", pair] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

const rule = v.strictObject({
  action: v.optional(v.string()),
  source_labels: v.optional(v.array(v.string())),
  separator: v.optional(v.string()),
  regex: v.optional(v.pipe(v.union([v.string(), v.number()]), v.transform(String))),
  modulus: v.optional(wholeNumber(1, 2 ** 32)),
  target_label: v.optional(v.string()),
  replacement: v.optional(v.string()),
});

const described = <Schema extends v.GenericSchema>(schema: Schema, meaning: string) =>
  v.pipe(schema, v.description(meaning));

/** How to reach a receiver over HTTP: headers, credentials and TLS. */
export const httpOptions = {
  headers: v.optional(described(pairs(), "Headers to add to every request."), {}),
  username: v.optional(described(text(), "User for HTTP basic authentication.")),
  password: v.optional(
    described(text(), "Its password. Best as ${VARIABLE} or file:PATH; never printed."),
  ),
  password_file: v.optional(
    described(text("a file"), "File with the password, read again for every request."),
  ),
  bearer_token: v.optional(
    described(text(), "Token to send. Best as ${VARIABLE} or file:PATH; never printed."),
  ),
  bearer_token_file: v.optional(
    described(text("a file"), "File with the token, read again for every request."),
  ),
  ca_file: v.optional(
    described(text("a file"), "CA certificates to trust, as PEM, instead of the system's."),
  ),
  cert_file: v.optional(
    described(text("a file"), "Client certificate for mutual TLS, as PEM; needs key_file."),
  ),
  key_file: v.optional(described(text("a file"), "Private key of the client certificate, as PEM.")),
  server_name: v.optional(
    described(
      text("a host name"),
      "Host name to expect in the server's certificate, if not the URL's.",
    ),
  ),
  insecure_skip_verify: v.optional(
    described(flag(), "Accept any server certificate. Only for networks you trust."),
    false,
  ),
};

const httpSchema = v.strictObject(httpOptions);
export type HttpOptions = v.InferOutput<typeof httpSchema>;

export const samplesOptions = {
  url: described(
    text("an address such as //host:9090/api/v1/write"),
    "The receiver: //HOST:PORT/PATH.",
  ),
  name: v.optional(
    described(
      text("a name for logs, metrics and the spool's folder"),
      "Name in logs and metrics, and of the spool's folder; made from the address if absent.",
    ),
  ),
  timeout: v.optional(described(durationMs(100, 3_600_000), "Timeout of one request."), "30s"),
  batch: v.optional(described(wholeNumber(1, 100_000), "Most samples in one request."), 2_000),
  shards: v.optional(
    described(
      wholeNumber(1, 64),
      "Requests in flight at a time. The samples of a series stay in order.",
    ),
    1,
  ),
  labels: v.optional(
    described(pairs(), "Labels to add to every series that does not have them."),
    {},
  ),
  write_relabel_configs: v.optional(
    described(
      v.array(rule, "a list of relabelling rules"),
      "Prometheus relabeling rules for outgoing series; only in gpulse.yaml.",
    ),
    [],
  ),
  ...httpOptions,
  spool_bytes: v.optional(
    described(
      wholeNumber(65_536, 2 ** 50),
      "Most bytes to hold on disk while the receiver is unavailable; the oldest are dropped and counted.",
    ),
    2 ** 30,
  ),
  spool_age: v.optional(
    described(
      durationMs(1_000, 365 * 86_400_000),
      "How long to hold samples on disk while the receiver is unavailable.",
    ),
    "7d",
  ),
};

const schema = v.strictObject(samplesOptions);
export type SamplesOptions = v.InferOutput<typeof schema>;

/** The full URL, from the part after the sink's scheme. */
export function targetOf(scheme: "http" | "https", { url }: Pick<SamplesOptions, "url">): URL {
  const whole = url.startsWith("//") ? `${scheme}:${url}` : url;
  const target = URL.canParse(whole) ? new URL(whole) : undefined;
  if (target === undefined || target.protocol !== `${scheme}:` || target.hostname === "")
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `"${url.replace(/\/\/[^/]*@/, "//…@")}" is not an address to send to: write //HOST:PORT/PATH, with TLS by +https instead of +http.`,
    );
  return target;
}

export function httpConfigOf(target: URL, options: HttpOptions): HttpClientConfig {
  const user = options.username ?? decodeURIComponent(target.username);
  const password = options.password ?? decodeURIComponent(target.password);
  const { bearer_token: token, bearer_token_file: tokenFile, ca_file: caFile } = options;
  const { cert_file: certFile, key_file: keyFile, server_name: serverName } = options;
  if (user !== "" && (token !== undefined || tokenFile !== undefined))
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `${shownName(target)} has both a user and a bearer token: give one of them.`,
    );
  return {
    ...(user !== "" && {
      basicAuth: {
        username: user,
        ...(options.password_file !== undefined
          ? { passwordFile: path.resolve(options.password_file) }
          : { password: new Secret(password) }),
      },
    }),
    ...((token !== undefined || tokenFile !== undefined) && {
      authorization: {
        type: "Bearer",
        ...(token !== undefined
          ? { credentials: new Secret(token) }
          : { credentialsFile: path.resolve(tokenFile ?? "") }),
      },
    }),
    tls: {
      insecureSkipVerify: options.insecure_skip_verify,
      ...(caFile !== undefined && { caFile: path.resolve(caFile) }),
      ...(certFile !== undefined && { certFile: path.resolve(certFile) }),
      ...(keyFile !== undefined && { keyFile: path.resolve(keyFile) }),
      ...(serverName !== undefined && { serverName }),
    },
    followRedirects: true,
    headers: Object.entries(options.headers).map(([name, value]) => ({
      name,
      values: [],
      secrets: [new Secret(value)],
      files: [],
    })),
  };
}

/** The URL without user and password. */
export function bareUrl(target: URL): string {
  const bare = new URL(target);
  bare.username = "";
  bare.password = "";
  return bare.href;
}

const shownName = (target: URL): string => `${target.host}${target.pathname}`;

export const labelsOf = ({ labels }: SamplesOptions): LabelSet => labelSet(labels);

export const rulesOf = ({
  write_relabel_configs: rules,
}: SamplesOptions): readonly RelabelInput[] => rules;

/** Everything but the sink's labels, rules and sender. */
export function sinkOptionsOf(
  kind: string,
  target: URL,
  options: SamplesOptions,
  context: SinkContext,
): Omit<SamplesSinkOptions, "externalLabels" | "rules"> {
  const name = options.name ?? `${kind}:${shownName(target)}`;
  return {
    name,
    spoolFolder: path.join(context.spoolDir, folderOf(name, options.name ?? bareUrl(target))),
    spoolMaxBytes: options.spool_bytes,
    spoolMaxAgeMs: options.spool_age,
    batchSamples: options.batch,
    shards: options.shards,
  };
}

/** A readable folder name, unique to this receiver. */
export function folderOf(name: string, whole: string): string {
  const readable = name.replace(/[^\w.-]+/g, "-").slice(0, 60);
  return `${readable}-${createHash("sha256").update(whole).digest("hex").slice(0, 8)}`;
}
