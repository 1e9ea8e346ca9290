/** Publishes to an MQTT broker over one connection per message; delivered once the broker acknowledges it. */
import { formatError } from "../../../base/error.ts";
import {
  type BrokerAddress,
  BrokerRejectedError,
  brokerTimeoutMs,
  MqttConnection,
} from "../../../net/mqtt/connection.ts";
import { type ConnectFields, isTopic } from "../../../net/mqtt/packets.ts";
import { NotifyError } from "../../route/notification.ts";
import type { TlsConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import { payloadOf } from "../payload.ts";
import type { SecretText } from "../secret-text.ts";
import { tlsOptions } from "../tls-files.ts";

export interface ReadyMqtt {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly tls: TlsConfig;
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: SecretText | undefined;
}

export function openMqtt(ready: ReadyMqtt, context: ChannelContext): OpenChannel {
  const topic = context.text(ready.topic);
  const payload = context.text(ready.payload);
  /** MQTT 3.1.1 has no header for the idempotency key, so the JSON carries it. */
  const bodyOf = (message: ChannelMessage): string =>
    ready.payload === ""
      ? JSON.stringify({
          ...payloadOf(message, 0),
          idempotencyKey: message.notification.idempotencyKey,
        })
      : payload(message);
  return {
    send: async (message, signal) => {
      const name = topic(message);
      if (!isTopic(name))
        throw new NotifyError("the rendered topic is empty or contains a wildcard", {
          retryable: false,
        });
      const { host, port, clientId, username, retain } = ready;
      await publishOnce(
        { host, port, tls: ready.secure ? await tlsOptions(ready.tls) : undefined },
        // At most 23 characters, which every broker accepts; derived from the idempotency key, since client ids must be unique.
        {
          clientId:
            clientId === ""
              ? `gpulse${message.notification.idempotencyKey.slice(0, 17)}`
              : clientId,
          username,
          password: await ready.password?.read(),
          keepAliveSeconds: 60,
        },
        { topic: name, payload: Buffer.from(bodyOf(message)), retain },
        signal,
      );
    },
    close: () => undefined,
  };
}

interface OutgoingMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
}

const rejectedRetryAfterMs = 300_000;

/** @throws NotifyError */
async function publishOnce(
  broker: BrokerAddress,
  connect: ConnectFields,
  { topic, payload, retain }: OutgoingMessage,
  signal: AbortSignal,
): Promise<void> {
  const timeout = AbortSignal.timeout(brokerTimeoutMs);
  let connection: MqttConnection | undefined;
  try {
    connection = await MqttConnection.open(broker, connect, AbortSignal.any([signal, timeout]));
    await connection.publish(topic, payload, retain);
  } catch (thrown) {
    const reason = signal.aborted
      ? "aborted"
      : timeout.aborted
        ? `no response within ${brokerTimeoutMs / 1_000} s`
        : formatError(thrown);
    throw new NotifyError(`${broker.host}:${broker.port}: ${reason}`, retryOf(thrown));
  } finally {
    connection?.close();
  }
}

/** Code 3 (unavailable) is retried at once; wrong credentials slowly, since many attempts look like an attack. */
function retryOf(thrown: unknown): { retryable: boolean; retryAfterMs?: number } {
  if (!(thrown instanceof BrokerRejectedError) || thrown.code === 3) return { retryable: true };
  if (thrown.code === 4 || thrown.code === 5)
    return { retryable: true, retryAfterMs: rejectedRetryAfterMs };
  return { retryable: false };
}
