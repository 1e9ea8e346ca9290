/** `ntfy_configs`: a push message through ntfy.sh or a self-hosted server. An extension; Alertmanager has no such channel. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { httpConfig, secret, secretFile, sendResolved, template, words } from "../fields.ts";

export const ntfy = defineChannel({
  name: "ntfy",
  title: "ntfy",
  summary: "A push message to telephones and desktops by ntfy.",
  // ntfy.sh accepts a burst of 60 and then one message per five seconds.
  rate: { burst: 20, perMinute: 12 },
  example: `url: https://ntfy.sh
topic: my-gpus-4711
token: $NTFY_TOKEN`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    url: v.optional(words("The ntfy server."), "https://ntfy.sh"),
    topic: v.optional(secret("The topic; who knows it can read it, so it is kept hidden.")),
    topic_file: v.optional(secretFile("A file with the topic.")),
    token: v.optional(secret("An access token of the server.")),
    token_file: v.optional(secretFile("A file with that token.")),
    title: v.optional(template("The first line."), '{{ template "ntfy.default.title" . }}'),
    message: v.optional(template("The message."), '{{ template "ntfy.default.message" . }}'),
    priority: v.optional(
      template("From 1 (min) to 5 (max)."),
      '{{ if ne .Status "firing" }}2{{ else if eq .CommonLabels.severity "critical" }}5{{ else if eq .CommonLabels.severity "info" }}2{{ else }}4{{ end }}',
    ),
    tags: v.optional(
      template("Words or emoji names, with commas between."),
      '{{ if eq .Status "firing" }}rotating_light{{ else }}white_check_mark{{ end }}',
    ),
    click: v.optional(template("Where a tap leads."), "{{ .ExternalURL }}"),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const topic = setting.secret("topic", "the topic", given.topic, given.topic_file);
    if (topic === undefined && given.topic === undefined)
      setting.wrong("topic", "give the topic to post to, or topic_file.");
    setting.url("url", given.url);
    const token = setting.secret("token", "ntfy's token", given.token, given.token_file);
    if (topic === undefined) return undefined;
    const { url, title, message, priority, tags, click } = given;
    const http = setting.http(given.http_config);
    return { url, topic, token, title, message, priority, tags, click, http };
  },
  open: async (ready, context) => (await import("./send.ts")).openNtfy(ready, context),
});
