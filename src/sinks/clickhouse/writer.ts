/** Sends one statement to ClickHouse's HTTP interface and interprets the response. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { GpulseError } from "../../base/error.ts";
import type { SendFailure, SendResult } from "../../base/send/batch-sender.ts";
import type { Rows, TableName } from "../../lake/table.ts";
import type { HttpClientConfig } from "../../net/http/auth-config.ts";
import type { HttpResponse } from "../../net/http/request.ts";
import { SamplesPoster, retryAfterMs } from "../post.ts";
import { addColumns, createTable, jsonRows, quoteName } from "./table.ts";

export interface ClickHouseWriterOptions {
  /** The server's URL, without a query. */
  readonly server: URL;
  readonly shown: string;
  readonly database: string;
  /** The ClickHouse names of the lake's tables. */
  readonly tables: Readonly<Record<TableName, string>>;
  readonly create: boolean;
  readonly timeoutMs: number;
  readonly http: HttpClientConfig;
  readonly version: string;
  readonly nowMs: () => number;
}

const gzip = promisify(zlib.gzip);

/** ClickHouse's error codes (`Code: 516. DB::Exception: …`). */
const codes = {
  login: new Set([192, 193, 194, 516]),
  denied: new Set([164, 497]),
  unknownTable: new Set([60]),
  unknownDatabase: new Set([81]),
  /** The table lacks the columns or types of these rows. */
  mismatch: new Set([6, 10, 16, 26, 27, 38, 41, 47, 53, 72, 117, 131, 321, 349, 441]),
  unknownSetting: new Set([115]),
};

export class ClickHouseWriter {
  readonly #options: ClickHouseWriterOptions;
  readonly #poster: SamplesPoster;
  readonly #ready = new Set<TableName>();

  constructor(options: ClickHouseWriterOptions) {
    this.#options = options;
    const { server, ...http } = options;
    this.#poster = new SamplesPoster({ ...http, url: server.href });
  }

  close(): void {
    this.#poster.close();
  }

  /** Sends a batch. A resent batch is stored once: its deduplication token is the digest of its rows. */
  async insert(rows: Rows, signal: AbortSignal): Promise<SendResult | SendFailure> {
    const { create } = this.#options;
    const { table } = rows;
    if (create && !this.#ready.has(table)) {
      for (const statement of [createTable, addColumns]) {
        const result = await this.#post(statement(table, this.#name(table)), {}, signal);
        if (result.outcome !== "sent") return result;
      }
      this.#ready.add(table);
    }
    const body = jsonRows(rows);
    const packed = await gzip(body, { level: 1 });
    return this.#post(
      packed,
      {
        query: `INSERT INTO ${this.#name(table)} FORMAT JSONEachRow`,
        insert_deduplicate: "1",
        insert_deduplication_token: createHash("sha256").update(body).digest("hex"),
        date_time_input_format: "best_effort",
        input_format_skip_unknown_fields: "0",
        // Makes the server respond only once the rows are stored, whatever its default.
        async_insert: "0",
        wait_end_of_query: "1",
      },
      signal,
    );
  }

  #name(table: TableName): string {
    const { database, tables } = this.#options;
    return `${quoteName(database)}.${quoteName(tables[table])}`;
  }

  async #post(
    body: string | Buffer,
    parameters: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<SendResult | SendFailure> {
    const url = new URL(this.#options.server);
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    const isPacked = typeof body !== "string";
    const answer = await this.#poster.post(
      isPacked ? body : Buffer.from(body),
      {
        "content-type": "text/plain; charset=utf-8",
        ...(isPacked && { "content-encoding": "gzip" }),
      },
      signal,
      url.href,
    );
    return "outcome" in answer ? answer : this.#meaning(answer);
  }

  #meaning({ status, body, headers }: HttpResponse): SendResult | SendFailure {
    const { shown, database, tables, create, nowMs } = this.#options;
    // An error after the first bytes of a response has status 200; the body contains the exception.
    const text = body.toString("utf8");
    const code = Number(
      headers["x-clickhouse-exception-code"] ?? /^Code: (\d+)\b/m.exec(text)?.[1] ?? 0,
    );
    if (status >= 200 && status < 300 && code === 0) return { outcome: "sent" };
    const problem = `${shown} answers ${status}${formatException(text)}`;
    if (status === 401 || codes.login.has(code))
      return failed(
        `${problem}. Give username= and password= (best as password=\${VARIABLE}) of a ClickHouse user.`,
      );
    if (status === 403 || codes.denied.has(code))
      return failed(
        `${problem}. Grant that user INSERT on ${database}.*${create ? ", and CREATE TABLE and ALTER ADD COLUMN or create the tables and give create=false" : ""}.`,
      );
    if (codes.unknownDatabase.has(code))
      return failed(`${problem}. Create it first: CREATE DATABASE ${quoteName(database)}.`);
    if (codes.unknownTable.has(code))
      return failed(
        `${problem}. Create ${tables.gpu} and ${tables.series}, or give create=true and the right to create tables.`,
      );
    if (codes.mismatch.has(code))
      return failed(
        `${problem}. The table has other columns or types than gpulse writes: give create=true to add what is missing, or table= and series-table= with names of their own.`,
      );
    if (codes.unknownSetting.has(code))
      return failed(`${problem}. ClickHouse 21.11 or newer is needed.`);
    if (status < 400 || status === 404 || status === 405)
      return failed(`${problem}. Check that this is the address of ClickHouse's HTTP interface.`);
    if (status === 400) return failed(problem);
    return { outcome: "retry", problem, afterMs: retryAfterMs(headers["retry-after"], nowMs()) };
  }
}

const failed = (problem: string): SendFailure => ({
  outcome: "failed",
  error: new GpulseError("SINK_FAILED", problem),
});

/** The exception text without version and stack trace, on one line. */
function formatException(text: string): string {
  const line = text
    .replace(/\(version [^)]*\)+/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 300);
  return line === "" ? "" : `: ${line.replace(/\.$/, "")}`;
}
