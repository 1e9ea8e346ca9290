/** `discord_configs`: an embed sent through a Discord webhook. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { prepareWebhook } from "../entry-context.ts";
import { httpConfig, secret, secretFile, sendResolved, template } from "../fields.ts";

export const discord = defineChannel({
  name: "discord",
  title: "Discord",
  summary: "A message by a Discord webhook.",
  // Discord accepts 5 messages per 2 s and 30 per minute for one webhook.
  rate: { burst: 5, perMinute: 30 },
  example: "webhook_url: $DISCORD_WEBHOOK",
  options: v.strictObject({
    send_resolved: sendResolved(true),
    webhook_url: v.optional(secret("The webhook; $NAME takes it from the environment.")),
    webhook_url_file: v.optional(secretFile("A file with that address.")),
    title: v.optional(template("The first line."), '{{ template "discord.default.title" . }}'),
    message: v.optional(template("The message."), '{{ template "discord.default.message" . }}'),
    content: v.optional(
      template("A line above, where @names notify."),
      '{{ template "discord.default.content" . }}',
    ),
    username: v.optional(template("The name it is sent under."), ""),
    avatar_url: v.optional(template("The sender's picture."), ""),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => prepareWebhook(given, "Discord's webhook", setting),
  open: async (ready, context) => (await import("./send.ts")).openDiscord(ready, context),
});
