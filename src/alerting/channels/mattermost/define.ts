/** `mattermost_configs`: a message through Mattermost's incoming webhook. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  advanced,
  filledTemplate,
  httpConfig,
  items,
  secret,
  secretFile,
  sendResolved,
  template,
  yesOrNo,
} from "../fields.ts";
import { isWritten } from "../entry-context.ts";

const fieldEntry = v.strictObject({
  title: filledTemplate("The field's name."),
  value: filledTemplate("Its value."),
  short: v.optional(yesOrNo("Whether it may stand beside another.")),
});

const part = (description: string) => v.optional(template(description), "");

const attachmentEntry = v.strictObject({
  fallback: part("For clients that show no attachment."),
  color: part("The colour of the bar."),
  pretext: part("Above the bar."),
  text: part("The attachment's text."),
  author_name: part("The author."),
  author_link: part("Where the author's name leads."),
  author_icon: part("The author's picture."),
  title: part("The attachment's title."),
  title_link: part("Where the title leads."),
  fields: items(fieldEntry),
  thumb_url: part("A picture beside."),
  footer: part("The last line."),
  footer_icon: part("A picture beside the last line."),
  image_url: part("A picture below."),
});

export const mattermost = defineChannel({
  name: "mattermost",
  title: "Mattermost",
  summary: "A message by Mattermost's incoming webhook.",
  rate: { burst: 10, perMinute: 60 },
  example: `webhook_url: $MATTERMOST_WEBHOOK
channel: gpus`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    webhook_url: v.optional(secret("The incoming webhook; without it, mattermost_webhook_url.")),
    webhook_url_file: v.optional(secretFile("A file with that address.")),
    channel: part("The channel, where the webhook leaves it open."),
    username: part("The name it is sent under."),
    text: v.optional(
      template("The message, in Markdown."),
      '{{ template "mattermost.default.text" . }}',
    ),
    icon_url: part("The sender's picture."),
    icon_emoji: part("The sender's emoji."),
    attachments: advanced(items(attachmentEntry), "Attachments below the message."),
    type: part("The kind of post: empty, or custom_ and a name."),
    props: v.optional(
      advanced(
        v.strictObject({ card: part("Shown beside the post, in Markdown.") }),
        "Properties of the post.",
      ),
    ),
    priority: v.optional(
      advanced(
        v.strictObject({
          priority: part("standard, important or urgent."),
          requested_ack: v.optional(yesOrNo("Whether to ask for an acknowledgement."), false),
          persistent_notifications: v.optional(
            yesOrNo("Whether to notify again until it is acknowledged."),
            false,
          ),
        }),
        "The priority of the post.",
      ),
    ),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { global } = setting;
    const { webhook_url, webhook_url_file } = given;
    const hasOwn = isWritten(webhook_url) || isWritten(webhook_url_file);
    const value = hasOwn ? webhook_url : global.mattermost_webhook_url;
    const file = hasOwn ? webhook_url_file : global.mattermost_webhook_url_file;
    if (!isWritten(value) && !isWritten(file))
      setting.wrong("webhook_url", "give webhook_url or webhook_url_file.");
    const url = setting.secretUrl("webhook_url", "Mattermost's webhook", value, file);
    if (url === undefined) return undefined;
    return { ...given, url, http: setting.http(given.http_config) };
  },
  open: async (ready, context) => (await import("./send.ts")).openMattermost(ready, context),
});
