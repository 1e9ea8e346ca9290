/** Posts to Splunk On-Call's REST endpoint. The URL contains the key, so it is never shown. */
import { NotifyError } from "../../route/notification.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { NotificationPoster } from "../post.ts";
import { compileAll, groupKeyHash, printAll, urlBelow } from "../render.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten } from "../shorten.ts";

export interface ReadyVictorops {
  readonly key: SecretText;
  readonly url: string;
  readonly http: HttpClientConfig;
  readonly routing_key: string;
  readonly message_type: string;
  readonly entity_display_name: string;
  readonly state_message: string;
  readonly monitoring_tool: string;
  readonly custom_fields: Readonly<Record<string, string>>;
}

const longestStateMessage = 20_480;
const firingTypes = ["INFO", "WARNING", "CRITICAL"];

export function openVictorops(ready: ReadyVictorops, context: ChannelContext): OpenChannel {
  const poster = new NotificationPoster(
    "Splunk On-Call",
    ready.http,
    context.hidden,
    context.nowMs,
  );
  const { routing_key, message_type, entity_display_name, state_message, monitoring_tool } = ready;
  const texts = compileAll(
    { routing_key, message_type, entity_display_name, state_message, monitoring_tool },
    context,
  );
  const customFields = compileAll(ready.custom_fields, context);
  return {
    send: async (message, signal) => {
      const key = await ready.key.read();
      const text = printAll(texts, message);
      const firingType = firingTypes.includes(text.message_type) ? text.message_type : "CRITICAL";
      // A routing key of only dots would resolve to another path.
      if (/^\.{0,2}$/.test(text.routing_key))
        throw new NotifyError("the routing key is empty: check its template", {
          retryable: false,
        });
      await poster.post({
        url: urlBelow(
          ready.url,
          `${encodeURIComponent(key)}/${encodeURIComponent(text.routing_key)}`,
        ),
        body: JSON.stringify({
          message_type: message.data.status === "resolved" ? "RECOVERY" : firingType,
          entity_id: groupKeyHash(message),
          entity_display_name: text.entity_display_name,
          state_message: shorten(text.state_message, longestStateMessage),
          monitoring_tool: text.monitoring_tool,
          ...printAll(customFields, message),
        }),
        idempotencyKey: message.notification.idempotencyKey,
        signal,
      });
    },
    close: () => poster.close(),
  };
}
