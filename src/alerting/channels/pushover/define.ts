/** `pushover_configs`: a push message through Pushover; a firing alert is repeated until somebody acknowledges it. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  goTime,
  httpConfig,
  secret,
  secretFile,
  sendResolved,
  template,
  yesOrNo,
} from "../fields.ts";

export const pushover = defineChannel({
  name: "pushover",
  title: "Pushover",
  summary: "A push message to telephones by Pushover.",
  rate: { burst: 10, perMinute: 30 },
  example: `user_key: $PUSHOVER_USER
token: $PUSHOVER_TOKEN`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    user_key: v.optional(secret("The key of the user or group.")),
    user_key_file: v.optional(secretFile("A file with that key.")),
    token: v.optional(secret("The token of the application.")),
    token_file: v.optional(secretFile("A file with that token.")),
    title: v.optional(template("The title."), '{{ template "pushover.default.title" . }}'),
    message: v.optional(template("The message."), '{{ template "pushover.default.message" . }}'),
    url: v.optional(template("A link below."), '{{ template "pushover.default.url" . }}'),
    url_title: v.optional(template("What the link says."), ""),
    device: v.optional(template("One device; empty for all of the user's."), ""),
    sound: v.optional(template("The sound; empty for the user's own."), ""),
    priority: v.optional(
      template("From -2 (silent) to 2 (repeated until acknowledged)."),
      '{{ if eq .Status "firing" }}2{{ else }}0{{ end }}',
    ),
    retry: v.optional(goTime("How often priority 2 is repeated, at least 30s."), "1m"),
    expire: v.optional(goTime("For how long priority 2 is repeated."), "1h"),
    ttl: v.optional(goTime("When the message is deleted; 0 for never."), "0"),
    html: v.optional(yesOrNo("Whether the message is HTML."), false),
    monospace: v.optional(yesOrNo("Whether the message is shown in a monospaced font."), false),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const userKey = setting.neededSecret("user_key", "Pushover's user key", {
      value: given.user_key,
      file: given.user_key_file,
    });
    const token = setting.neededSecret("token", "Pushover's token", {
      value: given.token,
      file: given.token_file,
    });
    if (given.html && given.monospace)
      setting.wrong("monospace", "give html or monospace, not both.");
    if (userKey === undefined || token === undefined) return undefined;
    const { retry: retryMs, expire: expireMs, ttl: ttlMs } = given;
    const http = setting.http(given.http_config);
    return { ...given, userKey, token, retryMs, expireMs, ttlMs, http };
  },
  open: async (ready, context) => (await import("./send.ts")).openPushover(ready, context),
});
