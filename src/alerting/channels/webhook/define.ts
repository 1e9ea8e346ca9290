/** `webhook_configs`: Alertmanager's payload by POST, signed if a secret is configured. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { httpConfig, number, secret, secretFile, sendResolved, time, words } from "../fields.ts";

export const webhook = defineChannel({
  name: "webhook",
  title: "Webhook",
  summary: "A POST with Alertmanager's JSON, version 4.",
  rate: { burst: 60, perMinute: 300 },
  example: `url: http://127.0.0.1:5001/alerts
hmac_secret: $WEBHOOK_SECRET`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    url: v.optional(secret("Where to post; $NAME takes it from the environment.")),
    url_file: v.optional(secretFile("A file with that address.")),
    max_alerts: v.optional(number("At most so many alerts in one message; 0 for all."), 0),
    timeout: v.optional(
      time("How long to wait for an answer; 0s for as long as a try lasts."),
      "0",
    ),
    hmac_secret: v.optional(
      secret("Signs the body: sha256= and the HMAC-SHA256 in hexadecimal, in a header."),
    ),
    hmac_secret_file: v.optional(secretFile("A file with that secret.")),
    hmac_header: v.optional(words("The header of the signature."), "X-Gpulse-Signature-256"),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const url = setting.secretUrl("url", "the address of the webhook", given.url, given.url_file);
    if (url === undefined) {
      if (given.url === undefined) setting.wrong("url", "give url or url_file.");
      return undefined;
    }
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(given.hmac_header))
      setting.wrong("hmac_header", "not a valid header name.");
    return {
      url,
      maxAlerts: given.max_alerts,
      timeoutMs: given.timeout === 0 ? undefined : given.timeout,
      hmacSecret: setting.secret(
        "hmac_secret",
        "the secret of the signature",
        given.hmac_secret,
        given.hmac_secret_file,
      ),
      hmacHeader: given.hmac_header.toLowerCase(),
      http: setting.http(given.http_config),
    };
  },
  open: async (ready, context) => (await import("./send.ts")).openWebhook(ready, context),
});
