/** `gotify_configs`: a push message through a Gotify server. An extension; Alertmanager has no such channel. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { httpConfig, secret, secretFile, sendResolved, template, words } from "../fields.ts";

export const gotify = defineChannel({
  name: "gotify",
  title: "Gotify",
  summary: "A push message by a Gotify server.",
  rate: { burst: 20, perMinute: 120 },
  example: `url: https://gotify.example.com
token: $GOTIFY_TOKEN`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    url: words("The Gotify server."),
    token: v.optional(secret("The token of an application of the server.")),
    token_file: v.optional(secretFile("A file with that token.")),
    title: v.optional(template("The first line."), '{{ template "gotify.default.title" . }}'),
    message: v.optional(
      template("The message, in Markdown."),
      '{{ template "gotify.default.message" . }}',
    ),
    priority: v.optional(
      template("From 0 (quiet) to 10."),
      '{{ if ne .Status "firing" }}2{{ else if eq .CommonLabels.severity "critical" }}9{{ else if eq .CommonLabels.severity "info" }}3{{ else }}6{{ end }}',
    ),
    click: v.optional(template("Where a tap leads."), "{{ .ExternalURL }}"),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const token = setting.secret("token", "Gotify's token", given.token, given.token_file);
    if (token === undefined && given.token === undefined)
      setting.wrong("token", "give the token of an application, or token_file.");
    setting.url("url", given.url);
    if (token === undefined) return undefined;
    const { title, message, priority, click } = given;
    const url = `${given.url.replace(/\/+$/, "")}/message`;
    return { url, token, title, message, priority, click, http: setting.http(given.http_config) };
  },
  open: async (ready, context) => (await import("./send.ts")).openGotify(ready, context),
});
