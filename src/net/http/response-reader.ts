/**
 * Reads one HTTP/1.1 response (RFC 9112) from the chunks of a connection. As strict as Node's own client, and bounded: the head by
 * Node's limit, the body by the caller's.
 *
 *     HTTP/1.1 200 OK CRLF *(name ":" value CRLF) CRLF body
 *     chunked body: *(hex size [;extension] CRLF data CRLF) "0" CRLF *(trailer CRLF) CRLF
 */
import http from "node:http";

export class BodyLimitError extends Error {}

type Headers = Record<string, string | undefined>;

/** If one of these is repeated, the first counts; the values of all others are joined. Node's client does the same. */
const singleHeaders = new Set(
  "age authorization content-type etag expires from host last-modified location retry-after server".split(
    " ",
  ),
);
const headerLine = /^([!#$%&'*+.^_`|~\w-]+):([\t\u0020-\u007e\u0080-\u00ff]*)$/;
const statusLine = /^HTTP\/(\d)\.(\d) (\d{3})(?: [\t\u0020-\u007e\u0080-\u00ff]*)?$/;
const sizeLine = /^([\da-f]{1,12})[\t ]*(?:;[^\r\n]*)?\r\n$/i;
const headEnd = Buffer.from("\r\n\r\n");
const empty = Buffer.alloc(0);

type Framing = "head" | "length" | "chunk-size" | "chunk-data" | "chunk-end" | "trailer" | "close";

export class ResponseReader {
  status = 0;
  headers: Headers = {};
  isComplete = false;
  /** True if the server leaves the connection open for another request. */
  isReusable = false;
  readonly #maxBytes: number;
  #framing: Framing = "head";
  /** The incomplete head, or an incomplete line of a chunked body. */
  #pending: Buffer = empty;
  #leftBytes = 0;
  #trailerBytes = 0;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The body's bytes as they were sent: only the chunked encoding is decoded. */
  get body(): Buffer {
    const [first] = this.#parts;
    return this.#parts.length === 1 && first !== undefined
      ? first
      : Buffer.concat(this.#parts, this.#bytes);
  }

  /** @throws if the response is invalid or too large; the connection is then of no use. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.isComplete)
      at = this.#framing === "head" ? this.#head(chunk, at) : this.#body(chunk, at);
    if (at < chunk.length) this.isReusable = false;
  }

  /** The server has closed the connection. @throws if the response is incomplete */
  end(): void {
    if (this.#framing !== "close" && !this.isComplete) throw hangUp();
    this.isComplete = true;
  }

  /** Returns the position after the head, or the chunk's end if the head goes on. */
  #head(chunk: Buffer, from: number): number {
    const before = this.#pending.length;
    const bytes = before === 0 ? chunk.subarray(from) : Buffer.concat([this.#pending, chunk]);
    const end = bytes.indexOf(headEnd, Math.max(0, before - headEnd.length));
    if ((end === -1 ? bytes.length : end) > http.maxHeaderSize)
      throw invalid("its head is too large");
    if (end === -1) {
      this.#pending = bytes;
      return chunk.length;
    }
    this.#pending = empty;
    this.#readHead(bytes.toString("latin1", 0, end).split("\r\n"));
    return from + end + headEnd.length - before;
  }

  #readHead(lines: readonly string[]): void {
    const [, major, minor, status] = statusLine.exec(lines[0] ?? "") ?? [];
    if (status === undefined) throw invalid("its status line");
    this.status = Number(status);
    const headers: Headers = {};
    for (let at = 1; at < lines.length; at++) addHeader(headers, lines[at] ?? "");
    // An interim response: the final one follows.
    if (this.status < 200) {
      if (this.status === 101) throw invalid("it switches protocols");
      return;
    }
    this.headers = headers;
    const isModern = `${major}.${minor}` !== "1.0" && major !== "0";
    const connection = (headers["connection"] ?? "").toLowerCase();
    this.isReusable = isModern ? !connection.includes("close") : connection.includes("keep-alive");
    this.#frame(headers);
  }

  #frame(headers: Headers): void {
    const length = headers["content-length"];
    const encoding = headers["transfer-encoding"]?.toLowerCase();
    if (encoding !== undefined && length !== undefined)
      throw invalid("it has both Transfer-Encoding and Content-Length");
    if (this.status === 204 || this.status === 304) this.isComplete = true;
    else if (encoding !== undefined && /(?:^|,)[\t ]*chunked$/.test(encoding))
      this.#framing = "chunk-size";
    else if (length === undefined) {
      this.#framing = "close";
      this.isReusable = false;
    } else {
      if (!/^\d{1,15}$/.test(length)) throw invalid("its Content-Length");
      this.#framing = "length";
      this.#leftBytes = Number(length);
      this.isComplete = this.#leftBytes === 0;
    }
  }

  /** Returns the position after what was read. */
  #body(chunk: Buffer, at: number): number {
    if (this.#framing === "close") {
      this.#take(chunk.subarray(at));
      return chunk.length;
    }
    if (this.#framing === "length" || this.#framing === "chunk-data") {
      const end = Math.min(chunk.length, at + this.#leftBytes);
      this.#leftBytes -= end - at;
      this.#take(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
      if (this.#leftBytes === 0)
        if (this.#framing === "length") this.isComplete = true;
        else this.#framing = "chunk-end";
      return end;
    }
    const newline = chunk.indexOf(10, at);
    const end = newline === -1 ? chunk.length : newline + 1;
    const line = Buffer.concat([this.#pending, chunk.subarray(at, end)]);
    if (line.length > http.maxHeaderSize) throw invalid("a line of its chunked body is too long");
    this.#pending = newline === -1 ? line : empty;
    if (newline !== -1) this.#chunkLine(line.toString("latin1"));
    return end;
  }

  #chunkLine(line: string): void {
    if (!line.endsWith("\r\n")) throw invalid("a line of its chunked body");
    if (this.#framing === "chunk-size") {
      const size = sizeLine.exec(line)?.[1];
      if (size === undefined) throw invalid("the size of a chunk");
      this.#leftBytes = Number.parseInt(size, 16);
      this.#framing = this.#leftBytes === 0 ? "trailer" : "chunk-data";
    } else if (this.#framing === "chunk-end") {
      if (line !== "\r\n") throw invalid("the end of a chunk");
      this.#framing = "chunk-size";
    } else if (line === "\r\n") this.isComplete = true;
    else if ((this.#trailerBytes += line.length) > http.maxHeaderSize)
      throw invalid("its trailer is too large");
  }

  #take(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) throw new BodyLimitError("the body is too large");
    this.#parts.push(part);
  }
}

function addHeader(headers: Headers, line: string): void {
  const [, written, value = ""] = headerLine.exec(line) ?? [];
  if (written === undefined) throw invalid("a header line");
  const name = written.toLowerCase();
  const before = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (before !== undefined && name === "content-length") throw invalid("two Content-Length lines");
  if (before !== undefined && singleHeaders.has(name)) return;
  const text = value.trim();
  // Plain assignment of this name would replace the object's prototype.
  if (name === "__proto__") return;
  headers[name] = before === undefined ? text : `${before}, ${text}`;
}

export const hangUp = (): Error =>
  Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });

const invalid = (what: string): Error => new Error(`the response is not valid HTTP: ${what}`);
