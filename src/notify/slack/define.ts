/** `slack_configs`: an attachment by Slack's incoming webhook, or by an app's token. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  advanced,
  httpConfig,
  items,
  secret,
  secretFile,
  sendResolved,
  template,
  time,
  words,
  yesOrNo,
} from "../fields.ts";

const fieldEntry = v.strictObject({
  title: template("The field's name."),
  value: template("Its value."),
  short: v.optional(yesOrNo("Whether it may stand beside another.")),
});

const confirmEntry = v.strictObject({
  text: template("What is asked."),
  title: v.optional(template("The title of the question.")),
  ok_text: v.optional(template("The button that agrees.")),
  dismiss_text: v.optional(template("The button that does not.")),
});

const actionEntry = v.strictObject({
  type: template("`button`, for one."),
  text: template("What stands on it."),
  url: v.optional(template("Where it leads.")),
  style: v.optional(template("`primary` or `danger`.")),
  name: v.optional(template("Its name for an app.")),
  value: v.optional(template("Its value for an app.")),
  confirm: v.optional(confirmEntry),
});

export const slack = defineChannel({
  name: "slack",
  title: "Slack",
  summary: "A message by Slack's incoming webhook; Mattermost and Rocket.Chat take it too.",
  rate: { burst: 10, perMinute: 60 },
  example: `api_url: $SLACK_WEBHOOK
channel: '#gpus'`,
  options: v.strictObject({
    send_resolved: sendResolved(false),
    api_url: v.optional(secret("The incoming webhook; without it, slack_api_url.")),
    api_url_file: v.optional(secretFile("A file with that address.")),
    app_token: v.optional(secret("An app's token, in place of a webhook.")),
    app_token_file: v.optional(secretFile("A file with that token.")),
    app_url: v.optional(words("Where an app posts.")),
    channel: v.optional(template("The channel, where the webhook leaves it open."), ""),
    username: v.optional(
      template("The name it is sent under."),
      '{{ template "slack.default.username" . }}',
    ),
    color: v.optional(
      template("The colour of the bar: good, warning, danger or #rrggbb."),
      '{{ if eq .Status "firing" }}danger{{ else }}good{{ end }}',
    ),
    title: v.optional(template("The first line."), '{{ template "slack.default.title" . }}'),
    title_link: v.optional(
      template("Where it leads."),
      '{{ template "slack.default.titlelink" . }}',
    ),
    pretext: v.optional(template("Above the bar."), '{{ template "slack.default.pretext" . }}'),
    text: v.optional(template("The message."), '{{ template "slack.default.text" . }}'),
    message_text: v.optional(template("The message itself, above all attachments.")),
    fallback: v.optional(
      template("For clients that show no attachment."),
      '{{ template "slack.default.fallback" . }}',
    ),
    callback_id: v.optional(
      template("For an app that handles buttons."),
      '{{ template "slack.default.callbackid" . }}',
    ),
    footer: v.optional(template("The last line."), '{{ template "slack.default.footer" . }}'),
    icon_emoji: v.optional(
      template("The sender's emoji."),
      '{{ template "slack.default.iconemoji" . }}',
    ),
    icon_url: v.optional(
      template("The sender's picture."),
      '{{ template "slack.default.iconurl" . }}',
    ),
    image_url: v.optional(template("A picture below.")),
    thumb_url: v.optional(template("A picture beside.")),
    link_names: v.optional(yesOrNo("Whether @names notify."), false),
    short_fields: v.optional(yesOrNo("Whether fields stand two in a row."), false),
    mrkdwn_in: v.optional(
      advanced(v.array(words("A part.")), "The parts that may hold Slack's mark-up."),
      ["fallback", "pretext", "text"],
    ),
    fields: advanced(items(fieldEntry), "Names and values in a table."),
    actions: advanced(items(actionEntry), "Buttons below."),
    timeout: v.optional(time("How long to wait for an answer."), "0"),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { global } = setting;
    const hasApi = given.api_url !== undefined || given.api_url_file !== undefined;
    const hasApp = given.app_token !== undefined || given.app_token_file !== undefined;
    const globalApp = global.slack_app_token ?? global.slack_app_token_file;
    const globalApi = global.slack_api_url ?? global.slack_api_url_file;
    if (hasApi && hasApp) setting.wrong("app_token", "give api_url or app_token, not both.");
    const byApp = hasApp || (!hasApi && globalApi === undefined && globalApp !== undefined);
    const http = setting.http(given.http_config);
    const ready = { ...given, http, timeoutMs: given.timeout === 0 ? undefined : given.timeout };
    if (byApp) {
      const token = setting.secret(
        "app_token",
        "Slack's token",
        hasApp ? given.app_token : global.slack_app_token,
        hasApp ? given.app_token_file : global.slack_app_token_file,
      );
      const url = given.app_url ?? global.slack_app_url;
      if (given.channel === "") setting.wrong("channel", "an app needs a channel to post to.");
      return token === undefined ? undefined : { ...ready, to: { token, url } };
    }
    const url = setting.secretUrl(
      "api_url",
      "Slack's webhook",
      hasApi ? given.api_url : global.slack_api_url,
      hasApi ? given.api_url_file : global.slack_api_url_file,
    );
    if (url !== undefined) return { ...ready, to: { url } };
    if (!hasApi && globalApi === undefined)
      setting.wrong("api_url", "give api_url, or global slack_api_url.");
    return undefined;
  },
  open: async (ready, context) => {
    const { openSlack } = await import("./send.ts");
    return openSlack(ready, context);
  },
});
