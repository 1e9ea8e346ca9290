/** HTTP client for a running hub: timeout, size limit, and the hub's own error messages. */
import * as v from "valibot";
import { type ClientAccess, defaultHubUrl } from "./command/client.ts";
import { GpulseError, formatError } from "../base/error.ts";
import { HttpAgent, type HttpResponse, request, type RequestOptions } from "../net/http/request.ts";

const deadlineMs = 150_000;
const maxAnswerBytes = 512 * 1024 * 1024;

interface HubResponse {
  readonly status?: string;
  readonly data?: unknown;
  readonly error?: string;
  /** `bad_data` if the expression or a parameter is invalid. */
  readonly errorType?: string;
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

/** Called with the annotations of a response, once per kind present. */
export type NoteAnnotations = (kind: "warnings" | "infos", texts: readonly string[]) => void;

export class HubClient {
  readonly #base: URL;
  readonly #access: ClientAccess;

  constructor(url: string, access: ClientAccess = {}) {
    this.#access = access;
    const base = URL.canParse(url) ? new URL(url) : undefined;
    if (base === undefined || !/^https?:$/.test(base.protocol)) {
      throw new GpulseError("USAGE", `--url must be a URL such as ${defaultHubUrl}, not "${url}".`);
    }
    this.#base = base;
  }

  /** GETs a JSON route of the hub and validates the response. */
  async get<Schema extends v.GenericSchema>(
    path: string,
    schema: Schema,
  ): Promise<v.InferOutput<Schema>> {
    const { status, body } = await this.call("GET", path);
    if (status !== 200) {
      const refusal = v.safeParse(v.object({ error: v.string() }), body);
      const sentence = refusal.success ? refusal.output.error : `The hub answered ${status}.`;
      throw new GpulseError(status === 400 ? "USAGE" : "QUERY_FAILED", sentence);
    }
    const parsed = v.safeParse(schema, body);
    if (parsed.success) return parsed.output;
    throw new GpulseError(
      "QUERY_FAILED",
      `The response of ${this.#base.href} is not that of a gpulse hub of this version. Check --url.`,
    );
  }

  /** POSTs a form to a path of the Prometheus API and returns its `data`; annotations are passed to `note`. */
  async ask(
    path: string,
    form: Readonly<Record<string, string>>,
    note: NoteAnnotations = () => {},
  ): Promise<unknown> {
    const url = new URL(path, this.#base);
    const { status, body } = await this.#send(url, {
      method: "POST",
      body: new URLSearchParams(form).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    if (status === 204) return undefined;
    const answer = readJson(url, body) as HubResponse;
    if (answer.status !== "success")
      throw new GpulseError(
        answer.errorType === "bad_data" ? "QUERY_INVALID" : "QUERY_FAILED",
        answer.error ?? `The response of ${url.href} is not that of a gpulse hub. Check --url.`,
      );
    for (const kind of ["warnings", "infos"] as const) {
      const texts = answer[kind] ?? [];
      if (texts.length > 0) note(kind, texts);
    }
    return answer.data;
  }

  /** Sends a request with JSON bodies to any other path; an error response is returned with its status. */
  async call(
    method: "GET" | "POST" | "DELETE",
    path: string,
    json?: unknown,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const url = new URL(path, this.#base);
    const { status, body } = await this.#send(url, {
      method,
      ...(json === undefined
        ? {}
        : { body: JSON.stringify(json), headers: { "content-type": "application/json" } }),
    });
    return { status, body: body.length === 0 ? undefined : readJson(url, body) };
  }

  /** Uploads bytes; the response is JSON. */
  async upload(
    path: string,
    bytes: Uint8Array,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const url = new URL(path, this.#base);
    const { status, body } = await this.#send(url, {
      method: "POST",
      body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      headers: { "content-type": "application/octet-stream" },
    });
    return { status, body: body.length === 0 ? undefined : readJson(url, body) };
  }

  /** Downloads a path as bytes; POSTs `json` if given. */
  async download(
    path: string,
    json?: unknown,
  ): Promise<{ readonly status: number; readonly body: Buffer }> {
    const url = new URL(path, this.#base);
    if (json === undefined) return this.#send(url, { method: "GET" });
    const headers = { "content-type": "application/json" };
    return this.#send(url, { method: "POST", body: JSON.stringify(json), headers });
  }

  async #send(
    url: URL,
    options: Pick<RequestOptions, "method" | "body" | "headers">,
  ): Promise<HttpResponse> {
    const { token, ca } = this.#access;
    const agent = new HttpAgent(ca === undefined ? {} : { ca });
    try {
      const answer = await request(url.href, {
        ...options,
        headers: {
          ...options.headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
        },
        agent,
        timeoutMs: deadlineMs,
        maxBytes: maxAnswerBytes,
      });
      if (answer.status === 401 || answer.status === 403) throw refused(answer.status, answer.body);
      return answer;
    } catch (thrown) {
      throw thrown instanceof GpulseError ? thrown : unreachable(url, thrown);
    } finally {
      agent.close();
    }
  }
}

function readJson(url: URL, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (thrown) {
    throw unreachable(url, thrown);
  }
}

function unreachable(url: URL, thrown: unknown): GpulseError {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  return new GpulseError(
    "AGENT_UNREACHABLE",
    `No gpulse hub answers at ${url.origin} (${formatError(cause)}). Start one with gpulse up, or pass its URL with --url.`,
    { cause: thrown },
  );
}

/** The hub's error message if there is one, with a hint how to pass a token. */
function refused(status: number, body: Buffer): GpulseError {
  const said = /"error":"((?:[^"\\]|\\.)*)"/.exec(body.toString("utf8"))?.[1] ?? `status ${status}`;
  return new GpulseError(
    "ACCESS_REFUSED",
    `The hub refused the request: ${said} Pass a token with --token file:PATH or GPULSE_TOKEN.`,
  );
}
