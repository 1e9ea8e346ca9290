/** Posts the payload, signed if configured. A 2xx response means delivered. */
import { createHmac } from "node:crypto";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { payloadOf } from "../payload.ts";
import { openHttpChannel } from "../post.ts";
import type { SecretText } from "../secret-text.ts";

export interface ReadyWebhook {
  readonly url: SecretText;
  readonly maxAlerts: number;
  readonly timeoutMs: number | undefined;
  readonly hmacSecret: SecretText | undefined;
  readonly hmacHeader: string;
  readonly http: HttpClientConfig;
}

export function openWebhook(ready: ReadyWebhook, context: ChannelContext): OpenChannel {
  return openHttpChannel("the webhook", ready.http, context, async (message) => {
    const body = JSON.stringify(payloadOf(message, ready.maxAlerts));
    const secret = await ready.hmacSecret?.read();
    const signature =
      secret === undefined
        ? {}
        : {
            [ready.hmacHeader]: `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
          };
    return {
      url: await ready.url.readUrl(),
      body,
      headers: signature,
      followsRedirects: true,
      timeoutMs: ready.timeoutMs,
    };
  });
}
