/** A connection to an MQTT broker with many unacknowledged messages in flight. Never reconnects: open another one. */
import net from "node:net";
import tls, { type ConnectionOptions } from "node:tls";
import {
  type ConnectFields,
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
  /** Undefined if the connection uses no TLS. */
  readonly tls: ConnectionOptions | undefined;
}

/** The broker rejected the connection with a CONNACK return code. */
export class BrokerRejectedError extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`the broker ${connackErrors[code] ?? `rejected the connection with code ${code}`}`);
    this.code = code;
  }
}

const connackErrors: Readonly<Record<number, string>> = {
  1: "does not support MQTT 3.1.1",
  2: "rejected the client id",
  3: "is not ready",
  4: "rejected the user name and password",
  5: "does not authorize this user",
};

export const brokerTimeoutMs = 20_000;

interface PendingAck {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class MqttConnection {
  readonly #socket: net.Socket;
  readonly #pubacks = new Map<number, PendingAck>();
  #connack: PendingAck | undefined;
  #nextId = 1;
  #unread = Buffer.alloc(0);
  #failure: Error | undefined;
  #ping: NodeJS.Timeout | undefined;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the broker closed the connection")));
    socket.setTimeout(brokerTimeoutMs, () => {
      // An idle connection is fine as long as no acknowledgement is pending.
      if (this.#pubacks.size > 0 || this.#connack !== undefined)
        this.#fail(new Error(`the broker did not respond within ${brokerTimeoutMs / 1_000} s`));
    });
  }

  /** @throws BrokerRejectedError, or the socket's error. Aborting `signal` fails the connection, also after it is open. */
  static async open(
    { host, port, tls: secure }: BrokerAddress,
    connect: ConnectFields,
    signal?: AbortSignal,
  ): Promise<MqttConnection> {
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
    const accepted = new Promise<void>((resolve, reject) => {
      connection.#connack = { resolve, reject };
    });
    const abort = (): void => connection.#fail(toError(signal?.reason));
    signal?.addEventListener("abort", abort, { once: true });
    socket.once("close", () => signal?.removeEventListener("abort", abort));
    if (signal?.aborted) abort();
    socket.once(secure === undefined ? "connect" : "secureConnect", () =>
      socket.write(connectPacket(connect)),
    );
    await accepted;
    const pingIntervalMs = (connect.keepAliveSeconds * 1_000) / 2;
    connection.#ping = setInterval(() => socket.write(ping), pingIntervalMs).unref();
    return connection;
  }

  get isClosed(): boolean {
    return this.#failure !== undefined;
  }

  /** Resolves with the broker's PUBACK (QoS 1). At most 65,535 may be in flight. */
  async publish(topic: string, payload: Uint8Array, retain: boolean): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const packetId = this.#nextId;
    this.#nextId = (this.#nextId % 0xff_ff) + 1;
    await new Promise<void>((resolve, reject) => {
      this.#pubacks.set(packetId, { resolve, reject });
      this.#socket.write(publishPacket({ topic, payload, packetId, retain }));
    });
  }

  close(): void {
    if (this.#failure === undefined) this.#socket.end(disconnect);
    this.#fail(new Error("the connection is closed"));
    // Destroyed even if the broker never closes its side.
    this.#socket.setTimeout(1_000, () => this.#socket.destroy());
  }

  #read(bytes: Buffer): void {
    try {
      this.#unread = Buffer.concat([this.#unread, bytes]);
      for (;;) {
        const found = readPacket(this.#unread);
        if (found === undefined) return;
        this.#unread = this.#unread.subarray(found.length);
        this.#handle(found.packet);
      }
    } catch (thrown) {
      this.#fail(toError(thrown));
    }
  }

  #handle({ type, body }: Packet): void {
    if (type === packetType.connack) {
      const code = body[1] ?? 255;
      if (code !== 0) return this.#fail(new BrokerRejectedError(code));
      this.#connack?.resolve();
      this.#connack = undefined;
    } else if (type === packetType.puback) {
      const packetId = body.readUInt16BE(0);
      this.#pubacks.get(packetId)?.resolve();
      this.#pubacks.delete(packetId);
    }
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    clearInterval(this.#ping);
    this.#connack?.reject(error);
    for (const { reject } of this.#pubacks.values()) reject(error);
    this.#pubacks.clear();
    if (!this.#socket.writableEnded) this.#socket.destroy();
  }
}

const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
