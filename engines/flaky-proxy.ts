// A faulty network on loopback: a TCP proxy that delays, throttles, resets in mid-body, drops bytes and goes half-open as
// configured. It never changes a byte that it forwards.

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** The current faults of the network; absent fields mean none. */
export interface Weather {
  /** Added to every chunk, in each direction. */
  readonly latencyMs?: number;
  /** In each direction of each connection. */
  readonly bytesPerSecond?: number;
  /** A connection is reset after this many bytes from the client. */
  readonly resetAfterBytes?: number;
  /** `answers`: responses are dropped while requests arrive, so that the client cannot know that they did. */
  readonly deafTo?: "answers" | "requests" | "both";
  /** New connections are reset at once. */
  readonly refuses?: boolean;
}

export interface FlakyProxy {
  readonly port: number;
  /** Also applies to open connections. */
  weather: Weather;
  /** The number of open client connections. */
  readonly connections: number;
  /** Resets all open connections, like a router that loses its state. */
  reset(): void;
  /** Closes every connection to the target without notifying the client: half-open. */
  halfOpen(): void;
  stop(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly target: Socket;
  fromClientBytes: number;
  abandoned: boolean;
}

export async function startFlakyProxy(
  targetPort: number,
  options: { readonly port?: number } = {},
): Promise<FlakyProxy> {
  const pairs = new Set<Pair>();
  const server: Server = createServer((client) => {
    if (proxy.weather.refuses === true) {
      client.on("error", () => undefined);
      client.resetAndDestroy();
      return;
    }
    const target = connect(targetPort, "127.0.0.1");
    const pair: Pair = { client, target, fromClientBytes: 0, abandoned: false };
    pairs.add(pair);
    client.setNoDelay(true);
    target.setNoDelay(true);
    const end = (socket: Socket, other: Socket): void => {
      // An error on one side becomes a reset on the other, as without a proxy.
      socket.on("error", () => other.resetAndDestroy());
      socket.on("close", () => {
        if (pair.abandoned && socket === target) return;
        other.destroy();
        pairs.delete(pair);
      });
    };
    end(client, target);
    end(target, client);
    carry(client, target, "requests", (bytes) => {
      pair.fromClientBytes += bytes;
      return pair.fromClientBytes >= (proxy.weather.resetAfterBytes ?? Infinity);
    });
    carry(target, client, "answers", () => false);
  });
  function carry(
    from: Socket,
    to: Socket,
    way: "requests" | "answers",
    isCut: (bytes: number) => boolean,
  ): void {
    const pass = async (piece: Buffer): Promise<void> => {
      const { latencyMs = 0, bytesPerSecond = Infinity } = proxy.weather;
      await pause(latencyMs + (piece.length / bytesPerSecond) * 1_000);
      if (to.destroyed) return;
      if (isCut(piece.length)) {
        // In the middle of a chunk: the other side receives a part.
        to.write(piece.subarray(0, piece.length >> 1), () => {
          from.resetAndDestroy();
          to.resetAndDestroy();
        });
        return;
      }
      to.write(piece);
      from.resume();
    };
    let before: Promise<void> = Promise.resolve();
    from.on("data", (piece: Buffer) => {
      const { deafTo } = proxy.weather;
      if (deafTo === way || deafTo === "both") return;
      from.pause();
      before = before.then(() => pass(piece));
    });
    from.on("end", () => void before.then(() => to.end()));
  }
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("BUG: no port was given");
  const proxy: FlakyProxy = {
    port: address.port,
    weather: {},
    get connections() {
      return pairs.size;
    },
    reset: () => {
      for (const { client, target } of pairs) {
        client.resetAndDestroy();
        target.resetAndDestroy();
      }
    },
    halfOpen: () => {
      for (const pair of pairs) {
        pair.abandoned = true;
        pair.target.destroy();
      }
    },
    stop: async () => {
      for (const { client, target } of pairs) {
        client.destroy();
        target.destroy();
      }
      server.close();
      await once(server, "close");
    },
  };
  return proxy;
}

const pause = (ms: number): Promise<void> =>
  ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
