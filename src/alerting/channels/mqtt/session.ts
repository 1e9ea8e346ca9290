/** One connection to a broker: sign in, publish, wait for the receipt, leave. Ends at once when it is given up. */
import net from "node:net";
import tls from "node:tls";
import type { ConnectionOptions } from "node:tls";
import { NotifyError } from "../../route/notification.ts";
import {
  type Connect,
  connectPacket,
  disconnect,
  type Packet,
  packetType,
  type Publish,
  publishPacket,
  readPacket,
} from "../../../net/mqtt/packets.ts";

export interface Broker {
  readonly host: string;
  readonly port: number;
  /** undefined: no TLS. */
  readonly tls: ConnectionOptions | undefined;
}

const timeoutMs = 20_000;
const signInAgainMs = 300_000;

const refusals: Readonly<Record<number, string>> = {
  1: "it does not speak MQTT 3.1.1",
  2: "it does not take the client id",
  3: "it is not ready",
  4: "it does not take the user name and password",
  5: "it does not let this user in",
};

/** @throws NotifyError */
export async function publishOver(
  broker: Broker,
  connect: Connect,
  publish: Publish,
  signal: AbortSignal,
): Promise<void> {
  const where = `the broker ${broker.host}:${broker.port}`;
  if (signal.aborted) throw again(`${where}: given up`);
  const { host, port } = broker;
  const socket =
    broker.tls === undefined
      ? net.connect({ host, port })
      : tls.connect({
          host,
          port,
          ...(net.isIP(host) === 0 ? { servername: host } : {}),
          ...broker.tls,
        });
  const giveUp = (): void => void socket.destroy(new Error("given up"));
  signal.addEventListener("abort", giveUp, { once: true });
  const limit = setTimeout(() => {
    socket.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`));
  }, timeoutMs);
  try {
    await conversation(socket, broker, connect, publish, where);
    socket.end(disconnect);
  } catch (thrown) {
    if (thrown instanceof NotifyError) throw thrown;
    throw again(`${where}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  } finally {
    clearTimeout(limit);
    signal.removeEventListener("abort", giveUp);
    socket.on("error", () => undefined);
    if (!socket.writableEnded) socket.destroy();
    // A broker that does not close its side must not keep ours open.
    socket.setTimeout(1_000, () => socket.destroy());
  }
}

function conversation(
  socket: net.Socket,
  broker: Broker,
  connect: Connect,
  publish: Publish,
  where: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let unread = Buffer.alloc(0);
    socket.once(broker.tls === undefined ? "connect" : "secureConnect", () =>
      socket.write(connectPacket(connect)),
    );
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("it ended the connection")));
    const take = ({ type, body }: Packet): void => {
      if (type === packetType.connack) {
        const code = body[1] ?? 255;
        if (code === 0) socket.write(publishPacket(publish));
        else reject(refused(code, where));
      } else if (type === packetType.puback && body.readUInt16BE(0) === publish.packetId) resolve();
    };
    socket.on("data", (bytes: Buffer) => {
      try {
        unread = Buffer.concat([unread, bytes]);
        for (let found = readPacket(unread); found !== undefined; found = readPacket(unread)) {
          unread = unread.subarray(found.length);
          take(found.packet);
        }
      } catch (thrown) {
        reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
      }
    });
  });
}

function refused(code: number, where: string): NotifyError {
  const sentence = `${where} refused us: ${refusals[code] ?? `code ${code}`}`;
  if (code === 3) return again(sentence);
  // A password may be mended in its file; asking too often would be taken for an attack.
  if (code === 4 || code === 5)
    return new NotifyError(sentence, { retryable: true, retryAfterMs: signInAgainMs });
  return new NotifyError(sentence, { retryable: false });
}

const again = (sentence: string): NotifyError => new NotifyError(sentence, { retryable: true });
