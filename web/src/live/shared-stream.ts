/** The shared worker: one live stream for all open pages of a browser. */
import {
  type DecodedFleet,
  decodeFleet,
  type WireFleetColumns,
} from "../../../src/view/live/fleet-columns.ts";
import type { LiveFrame } from "../../../src/view/live/protocol.ts";
import { type KnownFleet, LiveConnection, type LinkState } from "./connection.ts";

export type FromPage =
  | { readonly kind: "join"; readonly url: string; readonly known: KnownFleet | undefined }
  | { readonly kind: "alive" }
  | { readonly kind: "hurry" }
  | { readonly kind: "leave" };

export type ToPage =
  | { readonly kind: "state"; readonly state: LinkState }
  | { readonly kind: "fleet"; readonly fleet: DecodedFleet }
  | { readonly kind: "frame"; readonly frame: LiveFrame };

/** Timeout for pages that crashed without leaving. */
const FORGET_AFTER_MS = 5 * 60_000;

const lastHeardMs = new Map<MessagePort, number>();
let connection: LiveConnection | undefined;
let state: LinkState = { kind: "connecting" };
let frame: LiveFrame | undefined;

function broadcast(message: ToPage): void {
  for (const port of lastHeardMs.keys()) port.postMessage(message);
}

function show(next: LiveFrame): void {
  frame = next;
  for (const [port, heardMs] of lastHeardMs)
    if (Date.now() - heardMs > FORGET_AFTER_MS) leave(port);
  broadcast({ kind: "frame", frame: next });
}

function connect(url: string, known?: KnownFleet): void {
  connection = new LiveConnection(url, {
    state: (next) => broadcast({ kind: "state", state: (state = next) }),
    fleet: (fleet) => {
      frame = fleet.frame;
      broadcast({ kind: "fleet", fleet });
    },
    frame: show,
  });
  connection.open(known);
}

function join(port: MessagePort, url: string, known: KnownFleet | undefined): void {
  lastHeardMs.set(port, Date.now());
  if (connection === undefined) return connect(url, known);
  port.postMessage({ kind: "state", state } satisfies ToPage);
  if (frame !== undefined && frame.fleet === known?.fleet)
    port.postMessage({ kind: "frame", frame } satisfies ToPage);
  else void sendFleet(port, url);
}

/** Sends the fleet to a page that joined after the stream's own fleet event and has none in its HTML. */
async function sendFleet(port: MessagePort, url: string): Promise<void> {
  try {
    const response = await fetch(new URL("fleet?columns=1", url), { cache: "no-store" });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const fleet = decodeFleet((await response.json()) as WireFleetColumns);
    port.postMessage({ kind: "fleet", fleet } satisfies ToPage);
  } catch {
    // Restarts the stream with the fleet, for all pages.
    connection?.close();
    connect(url);
  }
}

function leave(port: MessagePort): void {
  lastHeardMs.delete(port);
  if (lastHeardMs.size > 0) return;
  connection?.close();
  [connection, frame, state] = [undefined, undefined, { kind: "connecting" }];
}

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  port.addEventListener("message", ({ data }: MessageEvent<FromPage>) => {
    if (data.kind === "join") return join(port, data.url, data.known);
    if (data.kind === "leave") return leave(port);
    if (lastHeardMs.has(port)) lastHeardMs.set(port, Date.now());
    if (data.kind === "hurry") connection?.hurry();
  });
  port.start();
});
