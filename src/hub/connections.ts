/**
 * How many connections the hub holds at once: as many as a fleet of agents that keep theirs open needs, and never so many that
 * no file could be opened any more. Beyond that, those that idle make room, so that everybody is served in turn.
 */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";

/** Agents by the thousand, each with one; pages and dashboards beside them. */
const mostConnections = 20_000;
/** For the store's files, what the hub itself asks others, and the page. */
const keptFiles = 1_000;
const leastConnections = 500;
/** Where nobody says how many files may be open. */
const usualFiles = 4_096;
const makeRoomEveryMs = 1_000;

/** @param dropped is told of each connection that found no room; its owner comes again */
export function boundConnections(
  server: Server,
  { most = connectionsFor(openFilesLimit()), dropped }: { most?: number; dropped: () => void },
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

export const connectionsFor = (files: number): number =>
  Math.max(leastConnections, Math.min(mostConnections, files - keptFiles));

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
