/**
 * Server-Sent Events to the open pages. Data for a slow page is never queued: it misses frames until its socket is empty again,
 * then gets the newest; a page that reads nothing for long is disconnected.
 */
import type { ServerResponse } from "node:http";
import type { ClientKey } from "../../base/fair/client-key.ts";
import { FairShare } from "../../base/fair/fair-share.ts";
import type { WireClosed } from "./protocol.ts";
import { gzipHeader, SharedText } from "./shared-text.ts";

/** A page this far behind shows "reconnecting" itself; an open socket would only use memory. */
const GIVE_UP_AFTER_MS = 15_000;

const closedForOthers: WireClosed = {
  reason:
    "All live connections are in use and you have the most open: this one was closed for another user.",
  retryAfterSeconds: 60,
};

interface Page extends StreamClientOptions {
  readonly response: ServerResponse;
  readonly client: ClientKey;
  /** Since when the socket has been full. */
  behindSinceMs: number | undefined;
  needsFleet: boolean;
  /** Time of the last frame sent to the page; undefined if unknown. */
  frameMs: number | undefined;
}

export interface StreamClientOptions {
  /** True if the page accepts gzip; the response header declares it. */
  readonly isGzip: boolean;
  /** True if the page can apply changes to the previous frame. */
  readonly takesChanges: boolean;
  /** True if the page reads fleet and frame by columns. */
  readonly takesColumns: boolean;
}

export interface LiveMessages {
  readonly fleet: (isColumns: boolean) => string;
  readonly frame: (isColumns: boolean) => string;
  /** The changes since the frame of `baseMs`; undefined if only a whole frame is possible. */
  readonly changes: (baseMs: number) => string | undefined;
  readonly frameMs: number;
}

export class LiveStreams {
  readonly #pages = new Set<Page>();
  readonly #share: FairShare;

  constructor(limit: number) {
    this.#share = new FairShare(limit);
  }

  get count(): number {
    return this.#pages.size;
  }

  /**
   * Makes room for one more page: if all slots are in use, the client with the most pages loses its newest. Returns false if no
   * client has more.
   */
  makeRoom(client: ClientKey): boolean {
    if (this.#share.free > 0) return true;
    const greediest = this.#share.greediest(client);
    const newest = [...this.#pages]
      .reverse()
      .find(
        (page) =>
          page.client.principal === greediest?.principal &&
          page.client.address === greediest.address,
      );
    if (newest === undefined) return false;
    newest.response.end(sse("closed", JSON.stringify(closedForOthers)).bytes(newest.isGzip));
    this.#remove(newest);
    return true;
  }

  /**
   * The response must have its head written.
   * @param fleet a fleet event that many pages share; undefined for a page that has it from its HTML
   * @param frameMs the time of the frame that the page has with its fleet
   */
  add(
    response: ServerResponse,
    fleet: Buffer | undefined,
    frameMs: number | undefined,
    client: ClientKey,
    options: StreamClientOptions,
  ): void {
    const page: Page = {
      ...options,
      response,
      client,
      frameMs,
      behindSinceMs: undefined,
      needsFleet: false,
    };
    this.#pages.add(page);
    this.#share.take(client);
    response.on("close", () => this.#remove(page));
    response.on("error", () => this.#remove(page));
    response.cork();
    if (options.isGzip) response.write(gzipHeader);
    response.write(retry.bytes(options.isGzip));
    if (fleet !== undefined) response.write(fleet);
    response.uncork();
  }

  /** Sends each page what it lacks: the fleet if devices changed, otherwise the new data. */
  send(messages: LiveMessages, devicesChanged: boolean, nowMs: number): void {
    const { frameMs } = messages;
    const fleet = forEach((isColumns: boolean) => sse("fleet", messages.fleet(isColumns)));
    const frame = forEach((isColumns: boolean) => sse("frame", messages.frame(isColumns)));
    // Pages that just opened have the frame of their fleet, the others the last one sent.
    const changes = forEach((baseMs: number) => {
      const json = messages.changes(baseMs);
      return json === undefined ? undefined : sse("changes", json);
    });
    for (const page of this.#pages) {
      page.needsFleet ||= devicesChanged;
      if (page.response.writableLength > 0) {
        this.#wait(page, nowMs);
        continue;
      }
      page.behindSinceMs = undefined;
      const { takesColumns, takesChanges } = page;
      const message = page.needsFleet
        ? fleet(takesColumns)
        : ((takesChanges && page.frameMs !== undefined ? changes(page.frameMs) : undefined) ??
          frame(takesColumns));
      page.response.write(message.bytes(page.isGzip));
      page.needsFleet = false;
      page.frameMs = frameMs;
    }
  }

  /** Sends one event. A page that is behind fetches what it missed when it catches up. */
  sendEvent(name: string, json: () => string): void {
    const text = once(() => sse(name, json()));
    for (const { response, isGzip } of this.#pages)
      if (response.writableLength === 0) response.write(text().bytes(isGzip));
  }

  /** Sends a comment line, so that proxies and sockets see traffic even without data. */
  beat(): void {
    for (const { response, isGzip } of this.#pages)
      if (response.writableLength === 0) response.write(alive.bytes(isGzip));
  }

  close(): void {
    for (const page of this.#pages) {
      page.response.end();
      this.#remove(page);
    }
  }

  #remove(page: Page): void {
    if (this.#pages.delete(page)) this.#share.give(page.client);
  }

  #wait(page: Page, nowMs: number): void {
    page.behindSinceMs ??= nowMs;
    if (nowMs - page.behindSinceMs < GIVE_UP_AFTER_MS) return;
    this.#remove(page);
    page.response.destroy();
  }
}

const retry = new SharedText("retry: 1000\n\n");
const alive = new SharedText(": alive\n\n");

/** JSON holds no line breaks, so one data line is enough. */
export const sse = (event: string, json: string): SharedText =>
  new SharedText(`event: ${event}\ndata: ${json}\n\n`);

function forEach<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}
