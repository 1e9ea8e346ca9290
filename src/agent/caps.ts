/**
 * Limits each client address to a number of connections and requests per second. Prometheus scrapes every few seconds; the limits
 * stop a client that requests in a loop. Loopback clients are not limited.
 */
import type { Server } from "node:http";

const perSecond = 50;
const burst = 500;
const connectionsPerAddress = 64;
const maxAddresses = 4_096;

interface ClientBudget {
  left: number;
  atMs: number;
  connections: number;
}

export class ClientCaps {
  readonly #askers = new Map<string, ClientBudget>();

  /** Returns the whole seconds until the next request is allowed; 0 if it is allowed now. */
  waitSeconds(address: string | undefined, nowMs: number): number {
    if (address === undefined || isHere(address)) return 0;
    const asker = this.#of(address, nowMs);
    const passedSeconds = Math.max(0, nowMs - asker.atMs) / 1_000;
    asker.left = Math.min(burst, asker.left + passedSeconds * perSecond);
    asker.atMs = nowMs;
    if (asker.left < 1) return Math.ceil((1 - asker.left) / perSecond);
    asker.left--;
    return 0;
  }

  /** Returns false if the address already has its maximum of connections; otherwise counts one, which `leave` releases. */
  enter(address: string, nowMs: number): boolean {
    if (isHere(address)) return true;
    const asker = this.#of(address, nowMs);
    if (asker.connections >= connectionsPerAddress) return false;
    asker.connections++;
    return true;
  }

  leave(address: string): void {
    const asker = this.#askers.get(address);
    if (asker !== undefined) asker.connections = Math.max(0, asker.connections - 1);
  }

  #of(address: string, nowMs: number): ClientBudget {
    const found = this.#askers.get(address) ?? { left: burst, atMs: nowMs, connections: 0 };
    // Delete and set again, so that the map is ordered from the longest idle address to the most recent.
    this.#askers.delete(address);
    this.#askers.set(address, found);
    if (this.#askers.size > maxAddresses)
      for (const [oldest, { connections }] of this.#askers)
        if (connections === 0) {
          this.#askers.delete(oldest);
          break;
        }
    return found;
  }
}

/** Closes new connections of an address that already has its maximum. */
export function capConnections(server: Server, caps: ClientCaps, nowMs: () => number): void {
  server.on("connection", (socket) => {
    const address = socket.remoteAddress;
    if (address === undefined) return;
    if (!caps.enter(address, nowMs())) socket.destroy();
    else if (!isHere(address)) socket.once("close", () => caps.leave(address));
  });
}

const isHere = (address: string): boolean =>
  address === "::1" || /^(?:::ffff:)?127\./.test(address);
