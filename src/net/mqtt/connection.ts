/** A connection to a broker that stays: many messages under way at once, each with its receipt. Broken is broken: open another. */
import net from "node:net";
import tls from "node:tls";
import type { ConnectionOptions } from "node:tls";
import {
  type Connect,
  connectPacket,
  disconnect,
  type Packet,
  packetType,
  ping,
  publishPacket,
  readPacket,
} from "./packets.ts";

export interface BrokerAddress {
  readonly host: string;
  readonly port: number;
  /** undefined: no TLS. */
  readonly tls: ConnectionOptions | undefined;
}

/** The broker answered, and will not have us as we are. */
export class BrokerRefusedError extends Error {
  readonly code: number;

  constructor(code: number) {
    super(refusals[code] ?? `the broker refuses the connection with code ${code}`);
    this.code = code;
  }
}

const refusals: Readonly<Record<number, string>> = {
  1: "the broker does not speak MQTT 3.1.1",
  2: "the broker does not take the client id",
  3: "the broker is not ready",
  4: "the broker does not take the user name and password",
  5: "the broker does not let this user in",
};

const answerWithinMs = 20_000;

interface PendingReceipt {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class MqttConnection {
  readonly #socket: net.Socket;
  readonly #receipts = new Map<number, PendingReceipt>();
  #greeting: PendingReceipt | undefined;
  #nextId = 1;
  #unread = Buffer.alloc(0);
  #broken: Error | undefined;
  #ping: NodeJS.Timeout | undefined;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("error", (error) => this.#break(error));
    socket.on("close", () => this.#break(new Error("the broker ended the connection")));
    socket.setTimeout(answerWithinMs, () => {
      // Quiet is well as long as nothing is awaited.
      if (this.#receipts.size > 0 || this.#greeting !== undefined)
        this.#break(new Error(`no answer of the broker within ${answerWithinMs / 1_000} s`));
    });
  }

  /** @throws BrokerRefusedError, or what the system says of the connection. */
  static async open({ host, port, tls: secure }: BrokerAddress, connect: Connect) {
    const socket =
      secure === undefined
        ? net.connect({ host, port })
        : tls.connect({
            host,
            port,
            ...(net.isIP(host) === 0 ? { servername: host } : {}),
            ...secure,
          });
    const connection = new MqttConnection(socket);
    const greeted = new Promise<void>((resolve, reject) => {
      connection.#greeting = { resolve, reject };
    });
    socket.once(secure === undefined ? "connect" : "secureConnect", () =>
      socket.write(connectPacket(connect)),
    );
    await greeted;
    const everyMs = (connect.keepAliveSeconds * 1_000) / 2;
    connection.#ping = setInterval(() => socket.write(ping), everyMs).unref();
    return connection;
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** Resolves with the broker's receipt. At most 65,535 may be under way. */
  async publish(topic: string, payload: Uint8Array, retain: boolean): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    const packetId = this.#nextId;
    this.#nextId = (this.#nextId % 0xff_ff) + 1;
    await new Promise<void>((resolve, reject) => {
      this.#receipts.set(packetId, { resolve, reject });
      this.#socket.write(publishPacket({ topic, payload, packetId, retain }));
    });
  }

  close(): void {
    if (this.#broken === undefined) this.#socket.end(disconnect);
    this.#break(new Error("the connection is closed"));
    this.#socket.setTimeout(1_000, () => this.#socket.destroy());
  }

  #take(bytes: Buffer): void {
    try {
      this.#unread = Buffer.concat([this.#unread, bytes]);
      for (;;) {
        const found = readPacket(this.#unread);
        if (found === undefined) return;
        this.#unread = this.#unread.subarray(found.length);
        this.#packet(found.packet);
      }
    } catch (thrown) {
      this.#break(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }

  #packet({ type, body }: Packet): void {
    if (type === packetType.connack) {
      const code = body[1] ?? 255;
      if (code !== 0) return this.#break(new BrokerRefusedError(code));
      this.#greeting?.resolve();
      this.#greeting = undefined;
    } else if (type === packetType.puback) {
      const packetId = body.readUInt16BE(0);
      this.#receipts.get(packetId)?.resolve();
      this.#receipts.delete(packetId);
    }
  }

  #break(error: Error): void {
    if (this.#broken !== undefined) return;
    this.#broken = error;
    clearInterval(this.#ping);
    this.#greeting?.reject(error);
    for (const { reject } of this.#receipts.values()) reject(error);
    this.#receipts.clear();
    if (!this.#socket.writableEnded) this.#socket.destroy();
  }
}
