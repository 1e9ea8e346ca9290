/** Parameters of the Prometheus API, from the query string and a POSTed form together, parsed as in Prometheus. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { parseDurationMs } from "../../config/duration.ts";
import { parseTimeMs } from "../../config/time.ts";
import type { Matcher } from "../../model/select.ts";
import { QueryError } from "../../query/errors.ts";
import { parseSelector } from "../../query/parse/parse.ts";
import { invalidParameter } from "./failure.ts";

const maxFormBytes = 4 * 1024 * 1024;

/** Passes form bodies to `Params` as text. */
export function acceptForms(app: FastifyInstance): void {
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string", bodyLimit: maxFormBytes },
    (_request, body, done) => done(null, body),
  );
}

export class Params {
  readonly #values: URLSearchParams;

  constructor(values: URLSearchParams) {
    this.#values = values;
  }

  static of(request: FastifyRequest): Params {
    const mark = request.url.indexOf("?");
    const values = new URLSearchParams(mark < 0 ? "" : request.url.slice(mark + 1));
    if (typeof request.body === "string") {
      for (const [name, value] of new URLSearchParams(request.body)) values.append(name, value);
    }
    return new Params(values);
  }

  text(name: string): string | undefined {
    return this.#values.get(name) ?? undefined;
  }

  all(name: string): string[] {
    return this.#values.getAll(name);
  }

  /** Parses Unix seconds with decimals, or RFC 3339, into milliseconds. */
  timeMs(name: string, otherwise: number): number {
    const given = this.text(name);
    if (given === undefined || given === "") return otherwise;
    const ms = parseTimeMs(given);
    if (ms === undefined)
      throw invalidParameter(name, `cannot parse "${given}" to a valid timestamp`);
    return ms;
  }

  /** Parses seconds with decimals, or a PromQL duration. */
  durationMs(name: string): number | undefined {
    const given = this.text(name);
    if (given === undefined || given === "") return undefined;
    const ms = /^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(given)
      ? Number(given) * 1_000
      : parseDurationMs(given);
    if (ms === undefined || !Number.isFinite(ms))
      throw invalidParameter(name, `cannot parse "${given}" to a valid duration`);
    return ms;
  }

  /** A count of at least 0, where 0 means no limit. */
  limit(): number {
    const given = this.text("limit");
    if (given === undefined || given === "") return 0;
    const limit = Number(given);
    if (!Number.isInteger(limit))
      throw invalidParameter("limit", `cannot parse "${given}" to a valid limit`);
    if (limit < 0) throw invalidParameter("limit", "limit must be non-negative");
    return limit;
  }
}

/** @throws PrometheusApiError naming the parameter if the text is not a selector. */
export function parseSelectorParam(name: string, text: string): readonly Matcher[] {
  try {
    return parseSelector(text);
  } catch (thrown) {
    if (thrown instanceof QueryError) throw invalidParameter(name, thrown.message);
    throw thrown;
  }
}
