/** `msteams_configs`: a card through the older Teams connectors, which Microsoft is retiring; msteamsv2 uses workflows. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { prepareWebhook } from "../entry-context.ts";
import { httpConfig, secret, secretFile, sendResolved, template } from "../fields.ts";

export const msteams = defineChannel({
  name: "msteams",
  title: "Microsoft Teams (connector)",
  summary: "A card by an older Teams connector; new ones go by msteamsv2.",
  rate: { burst: 4, perMinute: 60 },
  example: "webhook_url: $TEAMS_WEBHOOK",
  options: v.strictObject({
    send_resolved: sendResolved(true),
    webhook_url: v.optional(secret("The connector; $NAME takes it from the environment.")),
    webhook_url_file: v.optional(secretFile("A file with that address.")),
    title: v.optional(template("The first line."), '{{ template "msteams.default.title" . }}'),
    summary: v.optional(
      template("For the list of messages."),
      '{{ template "msteams.default.summary" . }}',
    ),
    text: v.optional(template("The message."), '{{ template "msteams.default.text" . }}'),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => prepareWebhook(given, "Teams's connector", setting),
  open: async (ready, context) => (await import("./send.ts")).openMsteams(ready, context),
});
