/** `msteamsv2_configs`: an adaptive card to Teams through a Power Automate workflow. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { prepareWebhook } from "../entry-context.ts";
import { httpConfig, secret, secretFile, sendResolved, template } from "../fields.ts";

export const msteamsv2 = defineChannel({
  name: "msteamsv2",
  title: "Microsoft Teams",
  summary: "An adaptive card by a Teams workflow.",
  rate: { burst: 4, perMinute: 60 },
  example: "webhook_url: $TEAMS_WORKFLOW",
  options: v.strictObject({
    send_resolved: sendResolved(true),
    webhook_url: v.optional(secret("The workflow; $NAME takes it from the environment.")),
    webhook_url_file: v.optional(secretFile("A file with that address.")),
    title: v.optional(template("The first line."), '{{ template "msteamsv2.default.title" . }}'),
    text: v.optional(template("The message."), '{{ template "msteamsv2.default.text" . }}'),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => prepareWebhook(given, "Teams's workflow", setting),
  open: async (ready, context) => (await import("./send.ts")).openMsteamsv2(ready, context),
});
