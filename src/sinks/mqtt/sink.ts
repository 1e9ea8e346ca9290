/**
 * Sends readings to a broker in the Kafka sink's message format, one message per GPU and timestamp, under
 * `PREFIX/UUID/TIER`. Unacknowledged messages stay in a bounded queue and are resent until the broker acknowledges them.
 */
import { GpulseError, formatError } from "../../base/error.ts";
import { MessageEncoder } from "../../formats/message/encode.ts";
import type { SendFailure, SendResult } from "../../base/send/batch-sender.ts";
import { BufferedSender } from "../../base/send/buffered-sender.ts";
import { columnOf } from "../../model/columns.ts";
import type { Log } from "../../base/log.ts";
import type { Device } from "../../model/device.ts";
import { presence } from "../../model/presence.ts";
import { labelValue } from "../../model/labels.ts";
import {
  type BrokerAddress,
  BrokerRejectedError,
  MqttConnection,
} from "../../net/mqtt/connection.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";
import { announce } from "./discovery.ts";

export interface MqttSinkOptions {
  readonly broker: BrokerAddress;
  readonly prefix: string;
  /** Home Assistant's discovery prefix; undefined without discovery. */
  readonly discoveryPrefix: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly clientId: string;
  readonly hostName: string;
  readonly log: Log;
  readonly random: () => number;
}

interface OutgoingPublish {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

const keepAliveSeconds = 30;
/** Limit for messages in memory; beyond it `write` waits. */
const maxHeld = 20_000;
/** Messages in flight. Brokers queue messages beyond their in-flight window; mosquitto's is 20. */
const atOnce = 100;
const closeWithinMs = 5_000;

export class MqttSink implements Sink {
  readonly name: string;
  readonly #options: MqttSinkOptions;
  readonly #messages = new MessageEncoder();
  /**
   * Announcements by GPU and column; undefined for a column that is not a sensor. Announced again after a reconnect,
   * because the broker may have restarted.
   */
  readonly #announced = new Map<string, OutgoingPublish | undefined>();
  readonly #sender: BufferedSender<OutgoingPublish>;
  #connection: MqttConnection | undefined;

  constructor(options: MqttSinkOptions) {
    this.#options = options;
    this.name = `mqtt:${options.prefix}`;
    this.#sender = new BufferedSender({
      name: options.broker.host,
      send: (batch) => this.#send(batch),
      batchItems: atOnce,
      heldBytes: maxHeld,
      log: options.log,
      random: options.random,
    });
  }

  async write(delivery: Delivery): Promise<void> {
    const { prefix, hostName } = this.#options;
    const host = delivery.host ?? hostName;
    const { frame, devices, tags, tier } = delivery;
    const messages: OutgoingPublish[] = [];
    for (const device of devices) messages.push(...this.#announce(delivery, device, host));
    for (const { key, value } of this.#messages.encode({ frame, devices, host, tags }))
      messages.push({ topic: `${prefix}/${level(key)}/${tier}`, payload: value, retain: false });
    await this.#sender.add(messages);
  }

  async flush(signal: AbortSignal): Promise<void> {
    await this.#sender.flush(signal);
  }

  async close(): Promise<void> {
    await this.#sender.close(closeWithinMs);
    const connection = this.#connection;
    if (connection !== undefined && !connection.isClosed)
      await connection
        .publish(`${this.#options.prefix}/status`, Buffer.from("offline"), true)
        .catch(() => {});
    connection?.close();
  }

  #announce({ frame, tier }: Delivery, device: Device, host: string): OutgoingPublish[] {
    const { discoveryPrefix, prefix } = this.#options;
    const messages: OutgoingPublish[] = [];
    if (discoveryPrefix === undefined) return messages;
    frame.layout.series.forEach((series, slot) => {
      if (frame.presence[slot] !== presence.present) return;
      if (labelValue(series.labels, "uuid") !== device.uuid) return;
      const column = columnOf(series);
      const key = `${device.uuid}\u0000${column}`;
      if (column === undefined || this.#announced.has(key)) return;
      const config = announce(column, device, {
        discoveryPrefix,
        stateTopic: `${prefix}/${level(device.uuid)}/${tier}`,
        availabilityTopic: `${prefix}/status`,
        host,
      });
      const message = config && { ...config, retain: true };
      this.#announced.set(key, message);
      if (message !== undefined) messages.push(message);
    });
    return messages;
  }

  /** Messages that were unacknowledged when a connection broke are sent again on the next one. */
  async #send(batch: readonly OutgoingPublish[]): Promise<SendResult | SendFailure> {
    const { broker } = this.#options;
    try {
      await publishAll(await this.#connected(), batch);
      return { outcome: "sent" };
    } catch (thrown) {
      // Code 3 is "server unavailable"; every other rejection is about this client's identity.
      if (thrown instanceof BrokerRejectedError && thrown.code !== 3)
        return {
          outcome: "failed",
          error: new GpulseError(
            "SINK_FAILED",
            `${broker.host}:${broker.port}: ${thrown.message}. Check username=, password= and client-id=.`,
          ),
        };
      return { outcome: "retry", problem: formatError(thrown) };
    }
  }

  async #connected(): Promise<MqttConnection> {
    if (this.#connection?.isClosed === false) return this.#connection;
    const { broker, clientId, username, password, prefix } = this.#options;
    const will = { topic: `${prefix}/status`, payload: "offline" };
    const connection = await MqttConnection.open(broker, {
      clientId,
      username,
      password,
      keepAliveSeconds,
      will,
    });
    const isReconnect = this.#connection !== undefined;
    this.#connection = connection;
    await connection.publish(will.topic, Buffer.from("online"), true);
    if (isReconnect)
      await publishAll(
        connection,
        [...this.#announced.values()].filter((one) => one !== undefined),
      );
    return connection;
  }
}

async function publishAll(
  connection: MqttConnection,
  messages: readonly OutgoingPublish[],
): Promise<void> {
  await Promise.all(
    messages.map(({ topic, payload, retain }) =>
      connection.publish(topic, Buffer.from(payload), retain),
    ),
  );
}

/** Escapes a text as one topic level: no wildcards and no separators. */
const level = (text: string): string => text.replace(/[+#/\p{Cc}\p{Cs}]/gu, "_");
