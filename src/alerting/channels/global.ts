/** The `global` section of alertmanager.yml: the defaults of entries. */
import * as v from "valibot";
import { duration } from "../../config/yaml/fields.ts";
import { httpConfig, secret, secretFile, tlsConfig, words, yesOrNo } from "./fields.ts";

export const globalSchema = v.strictObject({
  // Used by the routing configuration.
  resolve_timeout: v.optional(duration()),
  http_config: httpConfig(),
  smtp_smarthost: v.optional(words("The mail server, as host:port.")),
  smtp_from: v.optional(words("The sender of emails.")),
  smtp_hello: v.optional(words("The name to send in EHLO."), "localhost"),
  smtp_auth_username: v.optional(words("The user name at the mail server.")),
  smtp_auth_password: v.optional(secret("The password at the mail server.")),
  smtp_auth_password_file: v.optional(secretFile("A file with that password.")),
  smtp_auth_secret: v.optional(secret("The secret for CRAM-MD5.")),
  smtp_auth_secret_file: v.optional(secretFile("A file with that secret.")),
  smtp_auth_identity: v.optional(words("The identity for PLAIN.")),
  smtp_require_tls: v.optional(yesOrNo("Whether mail must be sent over TLS."), true),
  smtp_force_implicit_tls: v.optional(yesOrNo("TLS from the first byte, on any port.")),
  smtp_tls_config: tlsConfig(),
  slack_api_url: v.optional(secret("Slack's incoming webhook.")),
  slack_api_url_file: v.optional(secretFile("A file with that address.")),
  slack_app_token: v.optional(secret("The token of a Slack app.")),
  slack_app_token_file: v.optional(secretFile("A file with that token.")),
  slack_app_url: v.optional(
    words("Where a Slack app posts."),
    "https://slack.com/api/chat.postMessage",
  ),
  pagerduty_url: v.optional(
    words("PagerDuty's Events API."),
    "https://events.pagerduty.com/v2/enqueue",
  ),
  telegram_api_url: v.optional(words("Telegram's Bot API."), "https://api.telegram.org"),
  telegram_bot_token: v.optional(secret("The token of a Telegram bot.")),
  telegram_bot_token_file: v.optional(secretFile("A file with that token.")),
  opsgenie_api_url: v.optional(words("Opsgenie's API."), "https://api.opsgenie.com/"),
  opsgenie_api_key: v.optional(secret("The key of an Opsgenie API integration.")),
  opsgenie_api_key_file: v.optional(secretFile("A file with that key.")),
  victorops_api_url: v.optional(
    words("Splunk On-Call's REST endpoint."),
    "https://alert.victorops.com/integrations/generic/20131114/alert/",
  ),
  victorops_api_key: v.optional(secret("The key of Splunk On-Call's REST endpoint.")),
  victorops_api_key_file: v.optional(secretFile("A file with that key.")),
  wechat_api_url: v.optional(words("WeChat Work's API."), "https://qyapi.weixin.qq.com/cgi-bin/"),
  wechat_api_secret: v.optional(secret("The secret of a WeChat Work application.")),
  wechat_api_secret_file: v.optional(secretFile("A file with that secret.")),
  wechat_api_corp_id: v.optional(words("The corporation's id at WeChat Work.")),
  webex_api_url: v.optional(words("Webex's messages API."), "https://webexapis.com/v1/messages"),
  jira_api_url: v.optional(words("Jira's REST API, with its version: …/rest/api/2.")),
  rocketchat_api_url: v.optional(words("The Rocket.Chat server."), "https://open.rocket.chat/"),
  rocketchat_token: v.optional(secret("A personal access token of Rocket.Chat.")),
  rocketchat_token_file: v.optional(secretFile("A file with that token.")),
  rocketchat_token_id: v.optional(secret("The user id of that token.")),
  rocketchat_token_id_file: v.optional(secretFile("A file with that id.")),
  mattermost_webhook_url: v.optional(secret("Mattermost's incoming webhook.")),
  mattermost_webhook_url_file: v.optional(secretFile("A file with that address.")),
});

export type Global = v.InferOutput<typeof globalSchema>;
