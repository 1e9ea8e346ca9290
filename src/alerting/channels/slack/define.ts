/** `slack_configs`: an attachment through Slack's incoming webhook, or with an app's token. */
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
  time,
  words,
  yesOrNo,
} from "../fields.ts";
import { hasAuthorization, isWritten } from "../entry-context.ts";

const fieldEntry = v.strictObject({
  title: filledTemplate("The field's name."),
  value: filledTemplate("Its value."),
  short: v.optional(yesOrNo("Whether it may stand beside another.")),
});

const confirmEntry = v.strictObject({
  text: filledTemplate("What is asked."),
  title: v.optional(template("The title of the question.")),
  ok_text: v.optional(template("The button that agrees.")),
  dismiss_text: v.optional(template("The button that does not.")),
});

const actionEntry = v.strictObject({
  type: filledTemplate("`button`, for one."),
  text: filledTemplate("What stands on it."),
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
    const hasApi = isWritten(given.api_url) || isWritten(given.api_url_file);
    const hasApp = isWritten(given.app_token) || isWritten(given.app_token_file);
    const globalApp = isWritten(global.slack_app_token) || isWritten(global.slack_app_token_file);
    if (hasApi && hasApp) setting.wrong("app_token", "give api_url or app_token, not both.");
    given.actions.forEach(({ url, name }, at) => {
      if (!isWritten(url) && !isWritten(name))
        setting.wrong(`actions[${at}]`, "an action needs a url or a name.");
    });
    const http = setting.http(given.http_config);
    // An action with a URL is a link: the fields for an app's handler are omitted.
    const actions = given.actions.map((action) =>
      isWritten(action.url)
        ? { type: action.type, text: action.text, url: action.url, style: action.style }
        : action,
    );
    const timeoutMs = given.timeout === 0 ? undefined : given.timeout;
    const ready = { ...given, actions, http, timeoutMs };
    // The global token applies to receivers without authorization settings of their own.
    const usesGlobalApp = !hasApi && globalApp && !hasAuthorization(given.http_config);
    if (hasApp || usesGlobalApp) {
      if (hasAuthorization(given.http_config ?? global.http_config))
        setting.wrong("app_token", "give http_config.authorization or app_token, not both.");
      const token = setting.secret(
        "app_token",
        "Slack's token",
        hasApp ? given.app_token : global.slack_app_token,
        hasApp ? given.app_token_file : global.slack_app_token_file,
      );
      const url = given.app_url ?? global.slack_app_url;
      if (given.channel === "")
        setting.warn(
          "channel",
          "a Slack app needs a channel to post to; Slack refuses messages without.",
        );
      return token === undefined ? undefined : { ...ready, to: { token, url } };
    }
    const url = setting.secretUrl(
      "api_url",
      "Slack's webhook",
      hasApi ? given.api_url : global.slack_api_url,
      hasApi ? given.api_url_file : global.slack_api_url_file,
    );
    if (url !== undefined) return { ...ready, to: { url } };
    if (!hasApi && !isWritten(global.slack_api_url) && !isWritten(global.slack_api_url_file))
      setting.wrong(
        "api_url",
        "give api_url, or app_token, here or in the global section as slack_api_url or slack_app_token.",
      );
    return undefined;
  },
  open: async (ready, context) => (await import("./send.ts")).openSlack(ready, context),
});
