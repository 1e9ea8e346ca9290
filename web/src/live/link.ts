/**
 * Connects a page to the live stream. All pages of a browser share one stream through a worker: HTTP/1.1 gives an origin six
 * connections, and seven open pages would leave none for other requests. Browsers without shared workers (Chrome on Android) open
 * one stream per page.
 */
import { type KnownFleet, LiveConnection, type LinkEvents } from "./connection.ts";
import type { FromPage, ToPage } from "./shared-stream.ts";

/** More often than the worker's timeout for a page, because browsers slow the timers of hidden pages to one a minute. */
const ALIVE_EVERY_MS = 30_000;

/** @param known the fleet that came with the HTML */
export function openLink(url: string, known: KnownFleet | undefined, events: LinkEvents): void {
  const hurry =
    typeof SharedWorker === "undefined" ? direct(url, known, events) : shared(url, known, events);
  addEventListener("online", hurry);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") hurry();
  });
}

function direct(url: string, known: KnownFleet | undefined, events: LinkEvents): () => void {
  const connection = new LiveConnection(url, events);
  connection.open(known);
  return () => connection.hurry();
}

function shared(url: string, known: KnownFleet | undefined, events: LinkEvents): () => void {
  const worker = new SharedWorker(new URL("./shared-stream.ts", import.meta.url), {
    type: "module",
    name: "gpulse live",
  });
  const { port } = worker;
  const post = (message: FromPage): void => port.postMessage(message);
  let fallback: (() => void) | undefined;
  // The worker's script could not be loaded, for example after an update of the hub.
  worker.addEventListener("error", () => {
    fallback ??= direct(url, known, events);
  });
  port.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
    if (data.kind === "state") events.state(data.state);
    else if (data.kind === "fleet") events.fleet(data.fleet);
    else events.frame(data.frame);
  });
  port.start();
  const join = (): void => post({ kind: "join", url: new URL(url, document.baseURI).href, known });
  join();
  setInterval(() => post({ kind: "alive" }), ALIVE_EVERY_MS);
  addEventListener("pagehide", () => post({ kind: "leave" }));
  // The page was restored from the browser's back-forward cache.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) join();
  });
  return () => (fallback === undefined ? post({ kind: "hurry" }) : fallback());
}
