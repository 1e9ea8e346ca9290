/**
 * GET requests over keep-alive connections without TLS. A hub that scrapes sends hundreds a second, and one costs half of what it
 * costs through node:http, whose streams and events are made for bodies of any size.
 */
import http from "node:http";
import net from "node:net";
import { hangUp, ResponseReader } from "./response-reader.ts";

/** A connection is not reused within this time of the server's own idle timeout. */
const idleMarginMs = 1_000;
const tcpKeepAliveMs = 1_000;

interface Peer {
  readonly address: { readonly host: string; readonly port: number };
  readonly idle: Connection[];
  readonly waiting: Exchange[];
  open: number;
}

/** One request and its response. */
export interface PlainExchange {
  /** Rejects with the socket's error, or with the reader's. */
  readonly response: Promise<ResponseReader>;
  destroy(error: Error): void;
}

/** Headers that change how a message is framed, or how the connection is used: left to node:http. */
const specialHeaders = new Set([
  "connection",
  "content-length",
  "expect",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The head of the last request with these headers: scrapes of a target repeat both. */
const heads = new WeakMap<Readonly<Record<string, string>>, { url: URL; head: string }>();

/** True if a GET of this URL with these headers can be sent here. Headers and URLs passed here must not be changed afterwards. */
export const isPlain = (url: URL, headers: Readonly<Record<string, string>>): boolean =>
  heads.get(headers)?.url === url || isPlainRequest(url, headers);

const isPlainRequest = (url: URL, headers: Readonly<Record<string, string>>): boolean =>
  url.protocol === "http:" &&
  url.username === "" &&
  url.password === "" &&
  !Object.keys(headers).some((name) => specialHeaders.has(name.toLowerCase()));

export class PlainConnections {
  readonly #maxSockets: number;
  readonly #peers = new Map<string, Peer>();
  readonly #connections = new Set<Connection>();

  /** @param maxSockets per address; further requests wait for a free one */
  constructor(maxSockets: number) {
    this.#maxSockets = maxSockets;
  }

  /** @throws if a header is invalid */
  get(url: URL, headers: Readonly<Record<string, string>>, maxBytes: number): PlainExchange {
    const peer = this.#peer(url);
    const exchange = new Exchange(headOf(url, headers), maxBytes, () => {
      const at = peer.waiting.indexOf(exchange);
      if (at !== -1) peer.waiting.splice(at, 1);
    });
    peer.waiting.push(exchange);
    this.#proceed(url.host, peer);
    return exchange;
  }

  close(): void {
    for (const connection of this.#connections) connection.socket.destroy();
  }

  #peer({ host, hostname, port }: URL): Peer {
    let peer = this.#peers.get(host);
    if (peer === undefined) {
      const address = {
        host: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
        port: port === "" ? 80 : Number(port),
      };
      this.#peers.set(host, (peer = { address, idle: [], waiting: [], open: 0 }));
    }
    return peer;
  }

  /** Gives waiting requests to free connections. */
  #proceed(key: string, peer: Peer): void {
    while (peer.waiting.length > 0) {
      const connection = usable(peer) ?? this.#connect(key, peer);
      if (connection === undefined) return;
      const next = peer.waiting.shift();
      if (next !== undefined) connection.send(next);
    }
    if (peer.open === 0) this.#peers.delete(key);
  }

  #connect(key: string, peer: Peer): Connection | undefined {
    if (peer.open >= this.#maxSockets) return undefined;
    peer.open++;
    const connection = new Connection(
      net.connect({
        ...peer.address,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: tcpKeepAliveMs,
      }),
      () => {
        peer.idle.push(connection);
        this.#proceed(key, peer);
      },
    );
    this.#connections.add(connection);
    connection.socket.on("close", () => {
      this.#connections.delete(connection);
      const at = peer.idle.indexOf(connection);
      if (at !== -1) peer.idle.splice(at, 1);
      peer.open--;
      this.#proceed(key, peer);
    });
    return connection;
  }
}

/**
 * The connection idle for longest that the server is not about to close. With the one used last, those that only a burst needs would
 * idle until the server closes them, and every burst would open them again.
 */
function usable(peer: Peer): Connection | undefined {
  for (let found = peer.idle.shift(); found !== undefined; found = peer.idle.shift()) {
    if (!found.socket.destroyed && performance.now() < found.idleUntilMs) return found;
    found.socket.destroy();
  }
  return undefined;
}

class Connection {
  readonly socket: net.Socket;
  /** When the server may close the idle connection, as far as it says so. */
  idleUntilMs = Infinity;
  readonly #onFree: () => void;
  #exchange: Exchange | undefined;

  constructor(socket: net.Socket, onFree: () => void) {
    this.socket = socket;
    this.#onFree = onFree;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("end", () => this.#end());
    socket.on("error", (error) => this.#fail(error));
    // Not `#end`: closed from here, a body that ends with the connection is incomplete.
    socket.on("close", () => this.#fail(hangUp()));
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange;
    exchange.connection = this;
    this.socket.ref();
    this.socket.write(exchange.head, "latin1");
  }

  #read(chunk: Buffer): void {
    const exchange = this.#exchange;
    // Nothing was requested: whatever this is, it is not the next response.
    if (exchange === undefined) {
      this.socket.destroy();
      return;
    }
    try {
      exchange.reader.push(chunk);
    } catch (thrown) {
      this.#fail(thrown);
      return;
    }
    if (exchange.reader.isComplete) this.#finish(exchange);
  }

  #finish(exchange: Exchange): void {
    this.#exchange = undefined;
    exchange.finish();
    const { isReusable, headers } = exchange.reader;
    if (!isReusable || this.socket.destroyed) {
      this.socket.destroy();
      return;
    }
    const seconds = /(?:^|,)[\t ]*timeout=(\d+)/i.exec(headers["keep-alive"] ?? "")?.[1];
    this.idleUntilMs =
      seconds === undefined ? Infinity : performance.now() + Number(seconds) * 1_000 - idleMarginMs;
    this.socket.unref();
    this.#onFree();
  }

  #end(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) {
      this.socket.destroy();
      return;
    }
    try {
      exchange.reader.end();
    } catch (thrown) {
      this.#fail(thrown);
      return;
    }
    this.#finish(exchange);
  }

  #fail(thrown: unknown): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.socket.destroy();
    exchange?.fail(thrown);
  }
}

class Exchange implements PlainExchange {
  readonly head: string;
  readonly reader: ResponseReader;
  readonly response: Promise<ResponseReader>;
  connection: Connection | undefined;
  readonly #onDestroy: () => void;
  #resolve: (reader: ResponseReader) => void = () => undefined;
  #reject: (thrown: unknown) => void = () => undefined;

  constructor(head: string, maxBytes: number, onDestroy: () => void) {
    this.head = head;
    this.reader = new ResponseReader(maxBytes);
    this.#onDestroy = onDestroy;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  finish(): void {
    this.#resolve(this.reader);
  }

  fail(thrown: unknown): void {
    this.#reject(thrown);
  }

  destroy(error: Error): void {
    this.#onDestroy();
    this.fail(error);
    if (!this.reader.isComplete) this.connection?.socket.destroy();
  }
}

function headOf(url: URL, headers: Readonly<Record<string, string>>): string {
  const known = heads.get(headers);
  if (known?.url === url) return known.head;
  const head = writeHead(url, headers);
  heads.set(headers, { url, head });
  return head;
}

function writeHead(url: URL, headers: Readonly<Record<string, string>>): string {
  let head = `GET ${url.pathname}${url.search} HTTP/1.1\r\n`;
  let hasHost = false;
  for (const name in headers) {
    const value = headers[name] ?? "";
    http.validateHeaderName(name);
    http.validateHeaderValue(name, value);
    hasHost ||= name.toLowerCase() === "host";
    head += `${name}: ${value}\r\n`;
  }
  return `${head}${hasHost ? "" : `host: ${url.host}\r\n`}connection: keep-alive\r\n\r\n`;
}
