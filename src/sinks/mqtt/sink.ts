/**
 * Readings to a broker: the message that Kafka gets too, one for each GPU and instant, under `PREFIX/UUID/TIER`. Holds what the
 * broker has no receipt for, and sends it again until it has; never more than its bound.
 */
import { GpulseError, formatError } from "../../base/error.ts";
import { MessageEncoder } from "../../formats/message/encode.ts";
import { backoffMs, pause } from "../../base/retry.ts";
import { columnOf, seriesOf } from "../../model/columns.ts";
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
  /** Where Home Assistant listens; undefined where it is not told. */
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
const mostHeld = 20_000;
/** Brokers hold back what is beyond their own window; mosquitto's is 20. */
const atOnce = 100;
const closeWithinMs = 5_000;

export class MqttSink implements Sink {
  readonly name: string;
  readonly #options: MqttSinkOptions;
  readonly #messages = new MessageEncoder({ columnOf, seriesOf });
  /** By GPU and column; undefined for what is no sensor. A broker that lost its memory is told again. */
  readonly #announced = new Map<string, OutgoingPublish | undefined>();
  readonly #stop = new AbortController();
  #queue: OutgoingPublish[] = [];
  #connection: MqttConnection | undefined;
  #running: Promise<void> | undefined;
  #failure: Error | undefined;
  #isTrouble = false;

  constructor(options: MqttSinkOptions) {
    this.#options = options;
    this.name = `mqtt:${options.prefix}`;
  }

  async write(delivery: Delivery): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { prefix, hostName } = this.#options;
    const host = delivery.host ?? hostName;
    const { frame, devices, tags, tier } = delivery;
    for (const device of devices) this.#announce(delivery, device, host);
    const told = { frame, devices, host, ...(tags !== undefined && { tags }) };
    for (const { key, value } of this.#messages.encode(told))
      this.#queue.push({ topic: `${prefix}/${level(key)}/${tier}`, payload: value, retain: false });
    if (this.#queue.length > 0) this.#running ??= this.#drain();
    if (this.#queue.length > mostHeld) await this.#running;
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  async flush(signal: AbortSignal): Promise<void> {
    const stopped = new Promise<never>((_, reject) => {
      const giveUp = (): void => reject(new Error("stopped before all was sent"));
      if (signal.aborted) giveUp();
      else signal.addEventListener("abort", giveUp, { once: true });
    });
    stopped.catch(() => undefined);
    await Promise.race([this.#running, stopped]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async close(): Promise<void> {
    const { log, broker, prefix } = this.#options;
    await this.flush(AbortSignal.timeout(closeWithinMs)).catch(() => undefined);
    this.#stop.abort();
    const connection = this.#connection;
    if (connection !== undefined && !connection.isClosed)
      await connection.publish(`${prefix}/status`, Buffer.from("offline"), true).catch(() => {});
    connection?.close();
    if (this.#queue.length > 0)
      log.error("messages were not sent before the end", {
        to: broker.host,
        messages: this.#queue.length,
      });
  }

  #announce({ frame, tier }: Delivery, device: Device, host: string): void {
    const { discoveryPrefix, prefix } = this.#options;
    if (discoveryPrefix === undefined) return;
    frame.layout.series.forEach((series, slot) => {
      if (frame.presence[slot] !== presence.present) return;
      if (labelValue(series.labels, "uuid") !== device.uuid) return;
      const column = columnOf(series);
      const key = `${device.uuid}\u0000${column}`;
      if (column === undefined || this.#announced.has(key)) return;
      const told = announce(column, device, {
        discoveryPrefix,
        stateTopic: `${prefix}/${level(device.uuid)}/${tier}`,
        availabilityTopic: `${prefix}/status`,
        host,
      });
      const message = told && { ...told, retain: true };
      this.#announced.set(key, message);
      if (message !== undefined) this.#queue.push(message);
    });
  }

  /** Until nothing is left. What had no receipt when a connection broke is sent again with the next. */
  async #drain(): Promise<void> {
    const { log, random, broker } = this.#options;
    try {
      for (let attempt = 0; this.#queue.length > 0 && !this.#stop.signal.aborted;) {
        try {
          const connection = await this.#connected();
          const batch = this.#queue.slice(0, atOnce);
          await Promise.all(
            batch.map(({ topic, payload, retain }) =>
              connection.publish(topic, Buffer.from(payload), retain),
            ),
          );
          this.#queue = this.#queue.slice(batch.length);
          if (this.#isTrouble) log.info("sending again", { to: broker.host });
          this.#isTrouble = false;
          attempt = 0;
        } catch (thrown) {
          // A broker that is not ready may be later; one that does not know us will not.
          if (thrown instanceof BrokerRejectedError && thrown.code !== 3)
            throw new GpulseError(
              "SINK_FAILED",
              `${broker.host}:${broker.port}: ${thrown.message}. Check username=, password= and client-id=.`,
            );
          if (!this.#isTrouble)
            log.warn("sending failed, trying again until it works", {
              to: broker.host,
              error: formatError(thrown),
            });
          this.#isTrouble = true;
          await pause(backoffMs(attempt++, random), this.#stop.signal);
        }
      }
    } catch (thrown) {
      this.#failure = thrown instanceof Error ? thrown : new Error(String(thrown));
    } finally {
      this.#running = undefined;
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
    if (this.#connection !== undefined)
      this.#queue.unshift(...[...this.#announced.values()].filter((one) => one !== undefined));
    this.#connection = connection;
    await connection.publish(will.topic, Buffer.from("online"), true);
    return connection;
  }
}

/** One level of a topic: no wildcard, and no level below it. */
const level = (text: string): string => text.replace(/[+#/\p{Cc}\p{Cs}]/gu, "_");
