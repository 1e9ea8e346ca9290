/**
 * How many connections the hub holds at once: as many as a fleet of agents that keep theirs open needs, and never so many that
 * no file could be opened any more. Beyond that, those that idle make room, so that everybody is served in turn.
 */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { networkOf } from "../access/failures.ts";
import type { Log } from "../base/log.ts";
import { isLoopback } from "./guard.ts";

/** Agents by the thousand, each with one; pages and dashboards beside them. */
const mostConnections = 20_000;
/** For the store's files, what the hub itself asks others, and the page. */
const reservedFiles = 1_000;
const leastConnections = 500;
/** Where nobody says how many files may be open. */
const usualFiles = 4_096;
const makeRoomEveryMs = 1_000;
/** Of one address: more than a building of agents behind one router has, far less than all there are. */
export const defaultConnectionsPerAddress = 2_000;
const logEveryMs = 60_000;

/** @param dropped is told of each connection that found no room; its owner comes again */
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
  /** Infinity where everybody comes by a proxy: its address says nothing of who they are. */
  readonly perAddress?: number | undefined;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly dropped: () => void;
}

/** Ends connections beyond an address's share as they come. Who is on this machine is not held up. */
export function limitAddresses(
  server: Server,
  { perAddress = defaultConnectionsPerAddress, log, nowMs, dropped }: AddressLimitOptions,
): void {
  if (perAddress === Infinity) return;
  const held = new Map<string, number>();
  let toldMs = Number.NEGATIVE_INFINITY;
  server.on("connection", (socket) => {
    const address = networkOf(socket.remoteAddress);
    if (address === "" || isLoopback(address) || socket.remoteAddress === "::1") return;
    const count = held.get(address) ?? 0;
    if (count >= perAddress) {
      socket.destroy();
      dropped();
      if (nowMs() - toldMs < logEveryMs) return;
      toldMs = nowMs();
      log.warn(
        "an address has as many connections as one may have: more are ended. Agents behind one router need hub.limits.connections_per_address",
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
