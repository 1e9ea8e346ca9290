/** Opens a ClickHouse sink from its options: the server's address, the table names and the credentials. */
import path from "node:path";
import type * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { BufferedSender } from "../../base/send/buffered-sender.ts";
import { fillSecrets } from "../../config/secrets.ts";
import type { Rows } from "../../lake/table.ts";
import type { HttpClientConfig } from "../../net/http/auth-config.ts";
import { Secret } from "../../net/http/secret.ts";
import type { SinkContext } from "../../pipeline/sink.ts";
import type { clickHouseOptions } from "./define.ts";
import { ClickHouseSink } from "./sink.ts";
import { ClickHouseWriter } from "./writer.ts";

type ClickHouseOptions = v.InferOutput<typeof clickHouseOptions>;

/** Memory limit for unsent rows while the server is unavailable; beyond it `write` waits. */
const heldBytes = 64 * 2 ** 20;

export function openClickHouseSink(
  scheme: "http" | "https",
  options: ClickHouseOptions,
  { clock, log, random, hostName, version }: SinkContext,
): ClickHouseSink {
  const { server, database, user } = targetOf(scheme, options.address);
  const shown = `clickhouse://${server.host}/${database}`;
  const writer = new ClickHouseWriter({
    server,
    shown,
    database,
    tables: { gpu: options.table, series: options["series-table"], jobs: "jobs" },
    create: options.create,
    timeoutMs: options.timeout,
    http: httpOf(user, options, process.env),
    version,
    nowMs: () => clock.nowMs(),
  });
  const sender = new BufferedSender<Rows>({
    name: shown,
    batchItems: 1,
    heldBytes,
    sizeOf: sizeInMemory,
    send: async ([rows], signal) =>
      rows === undefined ? { outcome: "sent" } : writer.insert(rows, signal),
    refusalError: (problem) => new GpulseError("SINK_FAILED", problem),
    clock,
    log,
    random,
  });
  return new ClickHouseSink({
    name: `clickhouse:${database}`,
    host: hostName,
    batchRows: options["batch-rows"],
    lingerMs: options.linger,
    sender,
    writer,
    clock,
  });
}

const sizeInMemory = ({ count, texts, numbers }: Rows): number =>
  count * (16 + texts.length * 4 + numbers.length * 9);

function targetOf(
  scheme: "http" | "https",
  address: string,
): { readonly server: URL; readonly database: string; readonly user: URL } {
  const refuse = (why: string): GpulseError =>
    new GpulseError(
      "SOURCE_OPTIONS",
      `"clickhouse:${address.replace(/\/\/[^/]*@/, "//…@")}" ${why}: write clickhouse://HOST:8123/DATABASE.`,
    );
  const whole = `${scheme}:${address}`;
  if (!address.startsWith("//") || !URL.canParse(whole)) throw refuse("is not an address");
  const user = new URL(whole);
  const database = /^\/([A-Za-z_]\w{0,99})$/.exec(user.pathname)?.[1];
  if (user.hostname === "" || database === undefined) throw refuse("names no database");
  const server = new URL(`${scheme}://${user.host}/`);
  if (server.port === "" && !/:\d+(\/|$)/.test(address))
    server.port = scheme === "http" ? "8123" : "8443";
  return { server, database, user };
}

function httpOf(
  user: URL,
  options: ClickHouseOptions,
  env: Readonly<Record<string, string | undefined>>,
): HttpClientConfig {
  const username = options.username ?? decodeURIComponent(user.username);
  const given = { password: options.password ?? decodeURIComponent(user.password) };
  const { value } = fillSecrets(given, { env, folder: process.cwd() });
  const { password } = value as typeof given;
  return {
    ...(username !== "" && { basicAuth: { username, password: new Secret(password) } }),
    tls: {
      insecureSkipVerify: options.insecure,
      ...(options.ca_file !== undefined && { caFile: path.resolve(options.ca_file) }),
    },
    // A redirected POST would arrive without its rows.
    followRedirects: false,
    headers: [],
  };
}
