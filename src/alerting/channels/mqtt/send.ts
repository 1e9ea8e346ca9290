/** Publishes to a broker; taken means that it has sent its receipt. */
import { NotifyError } from "../../route/notification.ts";
import type { TlsConfig } from "../../../net/http/tls-config.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import { payloadOf } from "../payload.ts";
import type { SecretText } from "../secret-text.ts";
import { tlsOptions } from "../tls-files.ts";
import { isTopic } from "../../../net/mqtt/packets.ts";
import { publishOver } from "./session.ts";

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
  /** The protocol has no field for the key, so it stands in our JSON. */
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
        throw new NotifyError("the topic comes out empty or with a wildcard in it", {
          retryable: false,
        });
      const { host, port, clientId, username, retain } = ready;
      await publishOver(
        { host, port, tls: ready.secure ? await tlsOptions(ready.tls) : undefined },
        // 23 characters are what every broker takes; of the key, as no two connections may share a name.
        {
          clientId:
            clientId === ""
              ? `gpulse${message.notification.idempotencyKey.slice(0, 17)}`
              : clientId,
          username,
          password: await ready.password?.read(),
          keepAliveSeconds: 60,
        },
        { topic: name, payload: Buffer.from(bodyOf(message)), packetId: 1, retain },
        signal,
      );
    },
    close: () => undefined,
  };
}
