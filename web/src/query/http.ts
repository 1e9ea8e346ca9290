/**
 * Requests to the hub: relative URLs, limited concurrency, one request for equal URLs in flight, and the hub's own error messages.
 * A 401 leads to the login form.
 */

/** HTTP/1.1 gives a page six connections, and the live stream uses one. */
const AT_ONCE = 4;

export class ApiError extends Error {
  /** 0 without a response. */
  readonly status: number;
  /** Prometheus's `errorType`, empty if the response has none. */
  readonly type: string;

  constructor(message: string, status: number, type = "") {
    super(message);
    this.status = status;
    this.type = type;
  }

  /** True if the hub does not have this feature, or not yet. */
  get missing(): boolean {
    return this.status === 404;
  }
}

export const isAbort = (thrown: unknown): boolean =>
  thrown instanceof DOMException && thrown.name === "AbortError";

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    signal.throwIfAborted();
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

interface SharedRequest {
  readonly answer: Promise<unknown>;
  readonly abort: AbortController;
  asking: number;
}

const inFlight = new Map<string, SharedRequest>();

/** A GET shared by all callers of the same URL at the same time; aborted when the last of them has aborted. */
export async function getJson(url: string, signal?: AbortSignal): Promise<unknown> {
  signal?.throwIfAborted();
  let shared = inFlight.get(url);
  if (shared === undefined) {
    const abort = new AbortController();
    const answer = inTurn(abort.signal, () => ask(url, { signal: abort.signal })).finally(() => {
      if (inFlight.get(url)?.abort === abort) inFlight.delete(url);
    });
    // All callers may have aborted by the time it fails.
    answer.catch(() => undefined);
    shared = { answer, abort, asking: 0 };
    inFlight.set(url, shared);
  }
  return share(url, shared, signal);
}

async function share(url: string, shared: SharedRequest, signal?: AbortSignal): Promise<unknown> {
  const one = shared;
  one.asking += 1;
  if (signal === undefined) return one.answer;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(new DOMException("no longer wanted", "AbortError"));
      one.asking -= 1;
      if (one.asking > 0) return;
      one.abort.abort();
      if (inFlight.get(url) === one) inFlight.delete(url);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    // A page's signal lives as long as the page: a remaining listener would keep every response in memory.
    const settled = (): void => signal.removeEventListener("abort", onAbort);
    one.answer.then(resolve, reject).finally(settled);
  });
}

/** Sends a request that changes something. `body` is sent as JSON, a string unchanged. */
export async function send(
  method: "POST" | "PUT" | "DELETE",
  url: string,
  body?: unknown,
  contentType = "application/json",
): Promise<unknown> {
  const raw = typeof body === "string" || body instanceof Blob;
  return ask(url, {
    method,
    ...(body === undefined
      ? {}
      : {
          headers: { "content-type": contentType },
          body: raw ? body : JSON.stringify(body),
        }),
  });
}

async function ask(url: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, credentials: "same-origin", cache: "no-store" });
  } catch (thrown) {
    if (isAbort(thrown)) throw thrown;
    throw new ApiError("gpulse does not answer.", 0);
  }
  const text = await response.text();
  if (response.status === 401) toLogin();
  const body = parsed(text);
  if (response.ok) return body;
  throw new ApiError(errorIn(body) ?? fallback(response, text), response.status, typeIn(body));
}

const LAST_LOGIN = "gpulse.login";
const AGAIN_MS = 10_000;
let leaving = false;

/** The hub answers this address with the login form; if it does not, the form's own address is opened. */
function toLogin(): void {
  if (leaving) return;
  leaving = true;
  // A page that loads although its requests are rejected would reload itself endlessly.
  const [lastMs, nowMs] = [Number(sessionStorage.getItem(LAST_LOGIN)), Date.now()];
  sessionStorage.setItem(LAST_LOGIN, String(nowMs));
  if (nowMs - lastMs < AGAIN_MS) location.assign("login");
  else location.reload();
}

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

function errorIn(body: unknown): string | undefined {
  if (typeof body === "string" && body.trim() !== "" && !body.trimStart().startsWith("<"))
    return body.trim().slice(0, 2_000);
  return field(body, "error") ?? field(body, "message");
}

const typeIn = (body: unknown): string => field(body, "errorType") ?? "";

function field(body: unknown, name: string): string | undefined {
  const value: unknown =
    typeof body === "object" && body !== null ? Reflect.get(body, name) : undefined;
  return typeof value === "string" ? value : undefined;
}

const fallback = (response: Response, text: string): string =>
  `The hub answered ${response.status} ${response.statusText}${text === "" ? "" : " without a reason"}.`;
