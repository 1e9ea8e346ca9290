/**
 * Server-Sent Events to the open pages. What a slow page has not taken yet is never piled up: it misses frames until its
 * socket is empty again, then gets the newest, and one that takes nothing for long is let go.
 */
import type { ServerResponse } from "node:http";

/** A page this far behind shows its own "reconnecting"; holding its socket would only pin memory. */
const GIVE_UP_AFTER_MS = 15_000;

interface Page {
  readonly response: ServerResponse;
  /** Since when something written to it has not been taken. */
  behindSinceMs: number | undefined;
  needsFleet: boolean;
}

export interface Messages {
  readonly fleet: () => string;
  readonly frame: () => string;
}

export class LiveStreams {
  readonly #pages = new Set<Page>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#pages.size;
  }

  get full(): boolean {
    return this.#pages.size >= this.#limit;
  }

  /** The response must have its head written. The fleet is JSON, as bytes that many pages share. */
  add(response: ServerResponse, fleet: string | Buffer): void {
    const page: Page = { response, behindSinceMs: undefined, needsFleet: false };
    this.#pages.add(page);
    response.on("close", () => this.#pages.delete(page));
    response.on("error", () => this.#pages.delete(page));
    response.cork();
    response.write("retry: 1000\nevent: fleet\ndata: ");
    response.write(fleet);
    response.write("\n\n");
    response.uncork();
  }

  /** Sends what each page lacks: the fleet where devices changed, else the frame. */
  send({ fleet, frame }: Messages, devicesChanged: boolean, nowMs: number): void {
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

  /** Something that happened; a page that is behind asks for what it missed when it comes back. */
  tell(name: string, json: () => string): void {
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
    for (const { response } of this.#pages) response.end();
    this.#pages.clear();
  }

  #wait(page: Page, nowMs: number): void {
    page.behindSinceMs ??= nowMs;
    if (nowMs - page.behindSinceMs < GIVE_UP_AFTER_MS) return;
    this.#pages.delete(page);
    page.response.destroy();
  }
}

/** JSON holds no line breaks, so one data line is enough. As bytes: a string would be encoded anew for every page. */
const sse = (event: string, json: string): Buffer =>
  Buffer.from(`event: ${event}\ndata: ${json}\n\n`);

function once(make: () => Buffer): () => Buffer {
  let made: Buffer | undefined;
  return () => (made ??= make());
}
