/** Posts a group of alerts to incident.io: the webhook's payload with version 1. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import { payloadOf } from "../payload.ts";
import { openHttpChannel } from "../post.ts";
import type { SecretText } from "../secret-text.ts";

export interface ReadyIncidentio {
  readonly url: SecretText;
  readonly token: SecretText | undefined;
  readonly maxAlerts: number;
  readonly timeoutMs: number | undefined;
  readonly http: HttpClientConfig;
}

const maxBodyBytes = 512 * 1024;

export function openIncidentio(ready: ReadyIncidentio, context: ChannelContext): OpenChannel {
  return openHttpChannel("incident.io", ready.http, context, async (message) => {
    const token = await ready.token?.read();
    return {
      url: await ready.url.readUrl(),
      body: bodyOf(message, ready.maxAlerts),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      timeoutMs: ready.timeoutMs,
    };
  });
}

/** A body over incident.io's size limit is sent with the first alert alone: one incident is created either way. */
function bodyOf(message: ChannelMessage, maxAlerts: number): string {
  const whole = JSON.stringify({ ...payloadOf(message, maxAlerts), version: "1" });
  if (Buffer.byteLength(whole) <= maxBodyBytes) return whole;
  return JSON.stringify({ ...payloadOf(message, 1), version: "1" });
}
