/**
 * Limits open connections: enough for a fleet of agents with keep-alive connections, but never so many that files can no longer
 * be opened. Beyond the limit, idle connections are closed.
 */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { networkOf } from "../../access/failures.ts";
import type { Log } from "../../base/log.ts";
import { isLoopback } from "../guard.ts";

/** Thousands of agents with one connection each, plus pages and dashboards. */
const mostConnections = 20_000;
/** File descriptors for the store, outgoing requests, and the page. */
const reservedFiles = 1_000;
const leastConnections = 500;
/** Assumed if the limit of open files is unknown. */
const usualFiles = 4_096;
const makeRoomEveryMs = 1_000;
/** More than a site of agents behind one router needs, far less than the total. */
export const defaultConnectionsPerAddress = 2_000;
const logEveryMs = 60_000;

/** @param dropped called for each refused connection; its client retries */
export function limitConnections(
  server: Server,
  { most = maxConnectionsFor(openFilesLimit()), dropped }: { most?: number; dropped: () => void },
): void {
  server.maxConnections = most;
  let madeRoomMs = Number.NEGATIVE_INFINITY;
  server.on("drop", () => {
    dropped();
    if (performance.now() - madeRoomMs < makeRoomEveryMs) return;
    madeRoomMs = performance.now();
    server.closeIdleConnections();
  });
}

export const maxConnectionsFor = (files: number): number =>
  Math.max(leastConnections, Math.min(mostConnections, files - reservedFiles));

/** Node raises the soft limit to the hard one as it starts. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
    return soft === "unlimited" ? Infinity : Number(soft ?? usualFiles);
  } catch {
    return usualFiles;
  }
}

export interface AddressLimitOptions {
  /** Infinity behind a proxy, which hides the clients' addresses. */
  readonly perAddress?: number | undefined;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly dropped: () => void;
}

/** Closes new connections beyond an address's share. Loopback is exempt. */
export function limitAddresses(
  server: Server,
  { perAddress = defaultConnectionsPerAddress, log, nowMs, dropped }: AddressLimitOptions,
): void {
  if (perAddress === Infinity) return;
  const held = new Map<string, number>();
  let loggedMs = Number.NEGATIVE_INFINITY;
  server.on("connection", (socket) => {
    const address = networkOf(socket.remoteAddress);
    if (address === "" || isLoopback(address) || socket.remoteAddress === "::1") return;
    const count = held.get(address) ?? 0;
    if (count >= perAddress) {
      socket.destroy();
      dropped();
      if (nowMs() - loggedMs < logEveryMs) return;
      loggedMs = nowMs();
      log.warn(
        "too many connections from one address: more are closed; raise hub.limits.connections_per_address for agents behind one router",
        { address, connections: count },
      );
      return;
    }
    held.set(address, count + 1);
    socket.once("close", () => {
      const left = (held.get(address) ?? 1) - 1;
      if (left > 0) held.set(address, left);
      else held.delete(address);
    });
  });
}
