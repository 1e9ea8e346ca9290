/** The function's settings from its environment. Secrets are referenced by variables and never printed. */
import type { Env } from "../../config/secrets.ts";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../base/error.ts";
import { parseAddress } from "../../net/objects/open.ts";
import { parseZone, type Zone } from "../../formats/gpuz/time.ts";
import { Secret } from "../../net/http/secret.ts";
import { parseVendor, type Vendor, vendors } from "../../model/vendor.ts";
import { type StreamRules, streamSchema } from "../../pipeline/tags/options.ts";

export interface LambdaSettings {
  /** Output URL of tables and summaries: `s3://bucket/prefix`. */
  readonly output: string;
  /** The query string of the output URL, also used for the input bucket. */
  readonly query: string;
  readonly maxBytes: number;
  readonly zone: Zone;
  /** Host name of the logs; the bucket's name if not configured. */
  readonly host: string | undefined;
  readonly gpuName: string | undefined;
  readonly vendor: Vendor | undefined;
  readonly rules: StreamRules;
  readonly hub: { readonly url: URL; readonly token: Secret | undefined } | undefined;
}

const defaultMaxBytes = 512 * 2 ** 20;

export function readSettings(env: Env): LambdaSettings {
  const output = env["GPULSE_OUTPUT"];
  if (output === undefined || !output.startsWith("s3://"))
    throw wrong("GPULSE_OUTPUT", "needs s3://BUCKET/PREFIX, where results go");
  const { url } = parseAddress(output, ["endpoint", "region", "path-style"]);
  const zone = parseZone(env["GPULSE_TIMEZONE"] ?? "UTC");
  if (zone === undefined)
    throw wrong("GPULSE_TIMEZONE", "takes a time zone such as Europe/Berlin or UTC");
  const maxBytes = Number(env["GPULSE_MAX_BYTES"] ?? defaultMaxBytes);
  if (!Number.isInteger(maxBytes) || maxBytes < 1)
    throw wrong("GPULSE_MAX_BYTES", "takes a whole number of bytes");
  const vendor = parseVendor(env["GPULSE_VENDOR"] ?? "");
  if (vendor === undefined && env["GPULSE_VENDOR"] !== undefined)
    throw wrong("GPULSE_VENDOR", `takes one of ${vendors.join(", ")}`);
  return {
    output,
    query: url.search,
    maxBytes,
    zone,
    host: env["GPULSE_HOST"],
    gpuName: env["GPULSE_GPU_NAME"],
    vendor,
    rules: rulesOf(env["GPULSE_STREAM"]),
    hub: hubOf(env),
  };
}

/** Parses JSON with the keys `thresholds` and `tags`, as in a pipeline file. */
function rulesOf(text: string | undefined): StreamRules {
  let given: unknown = {};
  try {
    if (text !== undefined) given = JSON.parse(text);
  } catch {
    throw wrong("GPULSE_STREAM", 'takes JSON such as {"thresholds":{"high_power":250}}');
  }
  const checked = checkValue(streamSchema, given);
  if (!checked.ok) throw wrong("GPULSE_STREAM", checked.problems[0]?.sentence ?? "is not valid");
  return v.parse(streamSchema, given);
}

function hubOf(env: Env): LambdaSettings["hub"] {
  const given = env["GPULSE_HUB"];
  if (given === undefined || given === "") return undefined;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.password !== "")
    throw wrong("GPULSE_HUB", "takes the hub's http:// or https:// address, the token apart");
  const token = env["GPULSE_TOKEN"];
  return { url, token: token === undefined ? undefined : new Secret(token) };
}

const wrong = (name: string, sentence: string): GpulseError =>
  new GpulseError("CONFIG_WRONG_VALUE", `The variable ${name} ${sentence}.`);
