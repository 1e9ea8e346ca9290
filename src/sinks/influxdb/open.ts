/** Opens an InfluxDB sink from its options: the API version, the server's address and the credentials. */
import path from "node:path";
import type * as v from "valibot";
import { fillSecrets } from "../../config/secrets.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { HttpClientConfig } from "../../net/http/auth-config.ts";
import { HttpClient } from "../../net/http/client.ts";
import { request } from "../../net/http/request.ts";
import { Secret } from "../../net/http/secret.ts";
import { BufferedSender } from "../../base/send/buffered-sender.ts";
import type { SinkContext } from "../../pipeline/sink.ts";
import type { influxOptions } from "./define.ts";
import { InfluxLineWriter } from "./lines.ts";
import { InfluxSink } from "./sink.ts";
import { InfluxWriter } from "./writer.ts";

export type InfluxOptions = v.InferOutput<typeof influxOptions>;

/** Memory limit for unsent points while the server is unavailable; beyond it `write` waits. */
const heldBytes = 32 * 2 ** 20;

interface Target {
  readonly server: URL;
  /** The database or bucket. */
  readonly name: string;
  readonly version: 1 | 2;
  readonly shown: string;
}

export function openInfluxSink(
  scheme: "http" | "https",
  options: InfluxOptions,
  context: SinkContext,
): InfluxSink {
  const target = targetOf(scheme, options);
  const { server, name, version, shown } = target;
  const writer = new InfluxWriter({
    url: writeUrl(target, options),
    ...(version === 1 &&
      options.create && { create: { url: new URL("query", server).href, database: name } }),
    shown,
    place: version === 1 ? `database "${name}"` : `bucket "${name}"`,
    credentials:
      version === 1
        ? "Give username= and password= of a user who may write to the database."
        : "Give token= (best as token=${VARIABLE}) with the right to write to the bucket, and its org=.",
    gzip: options.gzip,
    timeoutMs: options.timeout,
    http: httpOf(target, options, process.env),
    version: context.version,
    nowMs: () => context.clock.nowMs(),
  });
  const sender = new BufferedSender<string>({
    name: shown,
    batchBytes: options["batch-bytes"],
    lingerMs: options.linger,
    heldBytes: Math.max(heldBytes, options["batch-bytes"]),
    sizeOf: (line) => line.length + 1,
    send: (batch, signal) => writer.write(`${batch.join("\n")}\n`, signal),
    refusalError: options.refused === "stop" ? refusalError : undefined,
    clock: context.clock,
    log: context.log,
    random: context.random,
  });
  if (context.waits === true) void reportSilence(target, options, context);
  const { preset, measurement, fields, tags } = options;
  const lines = new InfluxLineWriter({ preset, measurement, fields }, tags);
  return new InfluxSink({
    name: `influxdb:${name}`,
    host: context.hostName,
    lines,
    sender,
    writer,
  });
}

/** Warns at startup if the server is down; the sink itself first connects when there is data to write. */
async function reportSilence(
  target: Target,
  options: InfluxOptions,
  { log }: SinkContext,
): Promise<void> {
  const { server, shown } = target;
  const url = new URL("ping", server);
  url.username = url.password = "";
  const client = new HttpClient(httpOf(target, options, process.env));
  try {
    const more = { timeoutMs: options.timeout, maxBytes: 65_536 };
    await request(url.href, { ...(await client.options()), method: "GET", ...more });
  } catch (thrown) {
    log.warn("InfluxDB does not answer, it is waited for", {
      to: shown,
      error: formatError(thrown),
    });
  } finally {
    client.close();
  }
}

const refusalError = (problem: string): GpulseError =>
  new GpulseError(
    "SINK_FAILED",
    `${problem}. Fix the data or the server; refused=skip drops such lines and counts them.`,
  );

function targetOf(scheme: "http" | "https", options: InfluxOptions): Target {
  const { address, org, token, version: given } = options;
  const refuse = (why: string): GpulseError =>
    new GpulseError(
      "SOURCE_OPTIONS",
      `"influxdb:${address.replace(/\/\/[^/]*@/, "//…@")}" ${why}: write influxdb://HOST:8086/DATABASE, or influxdb://HOST:8086/BUCKET?org=ORG&token=\${VARIABLE} for the second API.`,
    );
  const whole = `${scheme}:${address}`;
  if (!address.startsWith("//") || !URL.canParse(whole)) throw refuse("is not an address");
  const url = new URL(whole);
  const at = url.pathname.lastIndexOf("/");
  const name = decodeURIComponent(url.pathname.slice(at + 1));
  if (url.hostname === "" || name === "") throw refuse("names no database or bucket");
  const server = new URL(url);
  server.pathname = url.pathname.slice(0, at + 1);
  if (server.port === "" && !/:\d+(\/|$)/.test(address)) server.port = "8086";
  const version = given === 2 || (given === undefined && (org ?? token) !== undefined) ? 2 : 1;
  if (version === 1 && (org ?? token) !== undefined)
    throw refuse("has an org or a token, which only version=2 takes");
  if (version === 2 && options.rp !== undefined)
    throw refuse("has a retention policy, which only version=1 takes");
  if (version === 2 && options.create)
    throw refuse("cannot create a bucket: create it in InfluxDB");
  return { server, name, version, shown: `influxdb://${server.host}${server.pathname}${name}` };
}

function writeUrl({ server, name, version }: Target, { rp, org }: InfluxOptions): string {
  const url = new URL(version === 1 ? "write" : "api/v2/write", server);
  url.username = "";
  url.password = "";
  url.searchParams.set(version === 1 ? "db" : "bucket", name);
  url.searchParams.set("precision", "ms");
  if (version === 1 && rp !== undefined) url.searchParams.set("rp", rp);
  if (version === 2 && org !== undefined) url.searchParams.set("org", org);
  return url.href;
}

function httpOf(
  { server }: Target,
  options: InfluxOptions,
  env: Readonly<Record<string, string | undefined>>,
): HttpClientConfig {
  const username = options.username ?? decodeURIComponent(server.username);
  const given = {
    password: options.password ?? decodeURIComponent(server.password),
    token: options.token,
  };
  const { value } = fillSecrets(given, { env, folder: process.cwd() });
  const { password, token } = value as typeof given;
  return {
    ...(token !== undefined
      ? { authorization: { type: "Token", credentials: new Secret(token) } }
      : username !== "" && { basicAuth: { username, password: new Secret(password) } }),
    tls: {
      insecureSkipVerify: options.insecure,
      ...(options.ca_file !== undefined && { caFile: path.resolve(options.ca_file) }),
    },
    followRedirects: true,
    headers: [],
  };
}
