/**
 * Sends one HTTP request: a deadline for the whole request, a size limit for the response, TLS and credentials as configured. Never
 * follows a redirect with credentials to another host, never throws a secret.
 */
import http from "node:http";
import https from "node:https";
import type { TLSSocketOptions } from "node:tls";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { systemCode } from "../../base/error.ts";
import { isPlain, PlainConnections, type PlainExchange } from "./plain-connections.ts";
import type { ProxyFor, ProxyServer } from "./proxy.ts";
import { BodyLimitError } from "./response-reader.ts";
import { PlainTunnelAgent, proxyAuthorization, SecureTunnelAgent } from "./tunnel.ts";

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Covers name resolution, connection and response. */
  readonly timeoutMs: number;
  /** Limit for the response body after decompression. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** Keeps connections open between requests, and carries TLS options; one per peer, closed by its creator. */
  readonly agent?: HttpAgent;
  readonly maxRedirects?: number;
  /** A content encoding that is not decoded; the caller does that. */
  readonly undoneByCaller?: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** The final URL, after redirects. */
  readonly url: string;
}

export class HttpRequestError extends Error {
  readonly kind: "timeout" | "too-large" | "connection" | "encoding" | "redirect" | "aborted";

  constructor(kind: HttpRequestError["kind"], sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = "HttpRequestError";
    this.kind = kind;
  }
}

export type TlsOptions = Pick<
  TLSSocketOptions & https.AgentOptions,
  | "ca"
  | "cert"
  | "key"
  | "passphrase"
  | "servername"
  | "rejectUnauthorized"
  | "minVersion"
  | "maxVersion"
>;

/** Options of a request apart from its address. */
interface StartOptions {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Connections to one or more peers with the same TLS options, directly or through a proxy. */
export class HttpAgent {
  readonly #options: https.AgentOptions;
  readonly #proxyFor: ProxyFor;
  readonly #agents = new Map<string, http.Agent>();
  readonly #plain: PlainConnections;

  constructor(tls: TlsOptions = {}, maxSockets = 16, proxyFor: ProxyFor = () => undefined) {
    this.#options = { keepAlive: true, maxSockets, ...tls };
    this.#proxyFor = proxyFor;
    this.#plain = new PlainConnections(maxSockets);
  }

  /** Sends a GET without node:http; undefined if it needs TLS, a proxy, or headers that concern the connection. */
  getPlain(
    url: URL,
    headers: Readonly<Record<string, string>>,
    maxBytes: number,
  ): PlainExchange | undefined {
    if (!isPlain(url, headers) || this.#proxyFor(url) !== undefined) return undefined;
    return this.#plain.get(url, headers, maxBytes);
  }

  request(url: URL, options: StartOptions): http.ClientRequest {
    const secure = url.protocol === "https:";
    const proxy = this.#proxyFor(url);
    if (proxy === undefined)
      return secure
        ? https.request(url, { ...options, agent: this.#agent("secure") })
        : http.request(url, { ...options, agent: this.#agent("plain") });
    if (secure) return https.request(url, { ...options, agent: this.#agent("secure", proxy) });
    if (proxy.protocol === "socks5:")
      return http.request(url, { ...options, agent: this.#agent("plain", proxy) });
    // Without TLS, a request to a proxy names the absolute URL (RFC 9112).
    const { protocol, host, port } = proxy;
    return (protocol === "https:" ? https : http).request({
      ...options,
      host,
      port,
      path: `${url.origin}${url.pathname}${url.search}`,
      headers: { host: url.host, ...options.headers, ...proxyAuthorization(proxy) },
      agent: this.#agent(protocol === "https:" ? "secure" : "plain"),
    });
  }

  close(): void {
    this.#plain.close();
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #agent(kind: "plain" | "secure", proxy?: ProxyServer): http.Agent {
    const name =
      proxy === undefined ? kind : `${kind} ${proxy.protocol}//${proxy.host}:${proxy.port}`;
    const known = this.#agents.get(name);
    if (known !== undefined) return known;
    const made = this.#made(kind, proxy);
    this.#agents.set(name, made);
    return made;
  }

  #made(kind: "plain" | "secure", proxy: ProxyServer | undefined): http.Agent {
    const { keepAlive, maxSockets } = this.#options;
    const plain = { keepAlive, maxSockets };
    if (kind === "plain")
      return proxy === undefined ? new http.Agent(plain) : new PlainTunnelAgent(plain, proxy);
    return proxy === undefined
      ? new https.Agent(this.#options)
      : new SecureTunnelAgent(this.#options, proxy);
  }
}

/** @param url a URL that is requested repeatedly is best parsed once */
export async function request(url: string | URL, options: RequestOptions): Promise<HttpResponse> {
  // One timer and no AbortController: a hub makes a request for every scrape.
  const deadline = new Deadline();
  const end = (): void => deadline.end();
  // Cleared once the response is complete: otherwise a hub that scrapes thousands of targets would retain all their timers.
  const timer = setTimeout(end, options.timeoutMs);
  const { signal: outer } = options;
  outer?.addEventListener("abort", end, { once: true });
  if (outer?.aborted === true) end();
  try {
    return await follow(url, options, deadline);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", end);
  }
}

/** Aborts the part of a request that is in progress on timeout, or when its caller aborts. */
class Deadline {
  isOver = false;
  /** The request to abort. */
  current: { destroy(error: Error): void } | undefined;

  end(): void {
    this.isOver = true;
    this.current?.destroy(new Error("the request was ended"));
  }
}

async function follow(
  url: string | URL,
  options: RequestOptions,
  deadline: Deadline,
): Promise<HttpResponse> {
  let here = typeof url === "string" ? new URL(url) : url;
  let headers = options.headers ?? {};
  for (let hops = options.maxRedirects ?? 0; ; hops--) {
    const isFirst = headers === options.headers;
    const answer = await once(here, isFirst ? options : { ...options, headers }, deadline);
    const target = answer.headers["location"];
    if (options.maxRedirects === undefined || !isRedirect(answer.status) || target === undefined)
      return answer;
    if (hops <= 0) throw new HttpRequestError("redirect", `${formatUrl(here)} redirects too often`);
    const next = new URL(target, here);
    if (next.origin !== here.origin) headers = withoutCredentials(headers);
    here = next;
  }
}

async function once(url: URL, options: RequestOptions, deadline: Deadline): Promise<HttpResponse> {
  const { agent, method = "GET", body, maxBytes } = options;
  const headers = headersOf(options);
  try {
    const exchange =
      method === "GET" && body === undefined ? agent?.getPlain(url, headers, maxBytes) : undefined;
    return exchange === undefined
      ? await send(url, { ...options, method, headers }, deadline)
      : await receive(url, options, exchange, deadline);
  } catch (thrown) {
    throw toRequestError(thrown, url, options, deadline);
  }
}

/** The given headers themselves if they are complete, since what is made of them is cached. */
function headersOf({ headers, body }: RequestOptions): Readonly<Record<string, string>> {
  if (body === undefined && headers?.["accept-encoding"] !== undefined) return headers;
  return {
    "accept-encoding": "gzip",
    ...headers,
    ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
  };
}

async function receive(
  url: URL,
  options: RequestOptions,
  exchange: PlainExchange,
  deadline: Deadline,
): Promise<HttpResponse> {
  deadline.current = exchange;
  if (deadline.isOver) deadline.end();
  const { status, headers, body } = await exchange.response;
  const encoding = checkedEncoding(headers["content-encoding"], options);
  return { status, headers, body: await decoded(body, encoding, options), url: url.href };
}

function send(
  url: URL,
  options: RequestOptions & { readonly headers: Readonly<Record<string, string>> },
  deadline: Deadline,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const { agent, method = "GET", headers } = options;
    const start = agent === undefined ? startDirectly : agent.request.bind(agent);
    const sent = start(url, { method, headers });
    deadline.current = sent;
    const fail = (thrown: unknown): void => {
      sent.destroy();
      reject(toRequestError(thrown, url, options, deadline));
    };
    sent.on("error", fail);
    sent.on("response", (answer) => {
      readBody(answer, options).then(
        (body) =>
          resolve({ status: answer.statusCode ?? 0, headers: flat(answer), body, url: url.href }),
        fail,
      );
    });
    if (deadline.isOver) deadline.end();
    else sent.end(options.body);
  });
}

const startDirectly = (url: URL, options: StartOptions): http.ClientRequest =>
  (url.protocol === "https:" ? https : http).request(url, options);

async function readBody(answer: http.IncomingMessage, options: RequestOptions): Promise<Buffer> {
  const encoding = checkedEncoding(answer.headers["content-encoding"], options);
  return decoded(await gather(answer, options.maxBytes), encoding, options);
}

function checkedEncoding(
  encoding: string | undefined,
  { undoneByCaller }: RequestOptions,
): string | undefined {
  if (encoding === undefined || ["identity", "gzip", undoneByCaller].includes(encoding))
    return encoding;
  throw new HttpRequestError(
    "encoding",
    `the answer comes as ${encoding.slice(0, 40)}, not as gzip`,
  );
}

const decoded = (
  whole: Buffer,
  encoding: string | undefined,
  { maxBytes }: RequestOptions,
): Promise<Buffer> | Buffer => (encoding === "gzip" ? unpack(whole, maxBytes) : whole);

/** Uses events: an iterator's promises cost more than the bytes of an ordinary response. */
function gather(answer: http.IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    answer.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes > maxBytes) {
        answer.destroy();
        reject(tooLarge(maxBytes));
      } else parts.push(part);
    });
    answer.on("end", () =>
      resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, bytes)),
    );
    answer.on("error", reject);
    answer.on("close", () => {
      // No effect after `end`.
      if (!answer.complete) reject(new Error("aborted"));
    });
  });
}

/** A scraped page is a few kilobytes: decompressing it here costs less than passing it to another thread. */
const smallBytes = 64 * 1024;
/** Header and trailer of a gzip member. */
const minGzipBytes = 18;
const [leastChunkBytes, mostChunkBytes] = [1_024, 1_024 * 1_024];
const gunzip = promisify(zlib.gunzip);

async function unpack(packed: Buffer, maxOutputLength: number): Promise<Buffer> {
  try {
    return packed.length <= smallBytes
      ? zlib.gunzipSync(packed, { maxOutputLength, chunkSize: chunkBytes(packed) })
      : await gunzip(packed, { maxOutputLength });
  } catch (thrown) {
    if (systemCode(thrown) === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxOutputLength);
    throw new HttpRequestError("encoding", "the response is not gzip although its header says so", {
      cause: thrown,
    });
  }
}

/** A chunk size that fits the whole page, from the size in its last four bytes; if that size is wrong, more chunks follow. */
const chunkBytes = (packed: Buffer): number =>
  packed.length < minGzipBytes
    ? leastChunkBytes
    : Math.min(
        Math.max(packed.readUInt32LE(packed.length - 4) + 1, leastChunkBytes),
        mostChunkBytes,
      );

const tooLarge = (maxBytes: number): HttpRequestError =>
  new HttpRequestError("too-large", `the answer is larger than ${maxBytes} bytes`);

function toRequestError(
  thrown: unknown,
  url: URL,
  { signal, timeoutMs, maxBytes }: RequestOptions,
  deadline: Deadline,
): HttpRequestError {
  if (thrown instanceof HttpRequestError) return thrown;
  if (thrown instanceof BodyLimitError) return tooLarge(maxBytes);
  if (signal?.aborted === true)
    return new HttpRequestError("aborted", `the request to ${formatUrl(url)} was given up`);
  if (deadline.isOver)
    return new HttpRequestError(
      "timeout",
      `${formatUrl(url)} did not answer within ${timeoutMs} ms`,
    );
  return new HttpRequestError("connection", `${formatUrl(url)}: ${messageOf(thrown)}`, {
    cause: thrown,
  });
}

/** Node reports several addresses that all refuse as one error without a message. */
function messageOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.message === "")
    return thrown.errors.map(messageOf).join("; ");
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** A URL for display: without user, password and query. */
export const formatUrl = (url: URL): string => `${url.origin}${url.pathname}`;

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** Headers safe to send to another host on a redirect; any other may be a secret. */
function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => /^(accept(-encoding)?|user-agent)$/i.test(name)),
  );
}

function flat(answer: http.IncomingMessage): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const name in answer.headers) {
    const value = answer.headers[name];
    headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}
