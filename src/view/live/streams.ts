/**
 * Server-Sent Events to the open pages. Data for a slow page is never queued: it misses frames until its
 * socket is empty again, then gets the newest, and one that takes nothing for long is let go.
 */
import type { ServerResponse } from "node:http";
import type { ClientKey } from "../../base/fair/client-key.ts";
import { FairShare } from "../../base/fair/fair-share.ts";
import type { WireClosed } from "./protocol.ts";

/** A page this far behind shows its own "reconnecting"; holding its socket would only pin memory. */
const GIVE_UP_AFTER_MS = 15_000;

const closedForOthers: WireClosed = {
  reason:
    "All places for live pages are in use and you have most of them open: this one was closed to make room for somebody else.",
  retryAfterSeconds: 60,
};

interface Page {
  readonly response: ServerResponse;
  readonly client: ClientKey;
  /** Since when its socket has been full. */
  behindSinceMs: number | undefined;
  needsFleet: boolean;
}

export interface LiveMessages {
  readonly fleet: () => string;
  readonly frame: () => string;
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

  /** Makes room for one more page: when all are in use, the client that has most loses its newest. False where nobody has more. */
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
    newest.response.end(sse("closed", JSON.stringify(closedForOthers)));
    this.#remove(newest);
    return true;
  }

  /**
   * The response must have its head written. The fleet is JSON, as bytes that many pages share; undefined for a page that has it
   * from its HTML.
   */
  add(response: ServerResponse, fleet: string | Buffer | undefined, client: ClientKey): void {
    const page: Page = { response, client, behindSinceMs: undefined, needsFleet: false };
    this.#pages.add(page);
    this.#share.take(client);
    response.on("close", () => this.#remove(page));
    response.on("error", () => this.#remove(page));
    response.cork();
    response.write("retry: 1000\n");
    if (fleet !== undefined) {
      response.write("event: fleet\ndata: ");
      response.write(fleet);
    }
    response.write("\n\n");
    response.uncork();
  }

  /** Sends what each page lacks: the fleet where devices changed, else the frame. */
  send({ fleet, frame }: LiveMessages, devicesChanged: boolean, nowMs: number): void {
    const fleetText = once(() => sse("fleet", fleet()));
    const frameText = once(() => sse("frame", frame()));
    for (const page of this.#pages) {
      page.needsFleet ||= devicesChanged;
      if (page.response.writableLength > 0) {
        this.#wait(page, nowMs);
        continue;
      }
      page.behindSinceMs = undefined;
      page.response.write(page.needsFleet ? fleetText() : frameText());
      page.needsFleet = false;
    }
  }

  /** Sends one event; a page that is behind fetches what it missed when it catches up. */
  sendEvent(name: string, json: () => string): void {
    const text = once(() => sse(name, json()));
    for (const { response } of this.#pages)
      if (response.writableLength === 0) response.write(text());
  }

  /** A comment line, so that proxies and sockets see life even when there is nothing to say. */
  beat(): void {
    for (const { response } of this.#pages)
      if (response.writableLength === 0) response.write(": alive\n\n");
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

/** JSON holds no line breaks, so one data line is enough. As bytes: a string would be encoded again for every page. */
const sse = (event: string, json: string): Buffer =>
  Buffer.from(`event: ${event}\ndata: ${json}\n\n`);

function once(make: () => Buffer): () => Buffer {
  let made: Buffer | undefined;
  return () => (made ??= make());
}
