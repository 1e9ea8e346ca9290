/** The `global` section of alertmanager.yml: what entries fall back to. What belongs to channels we do not have is read past. */
import * as v from "valibot";
import { duration } from "../scrape/config/fields.ts";
import { httpConfig, secret, secretFile, tlsConfig, words, yesOrNo } from "./fields.ts";

/** Keys of channels that Alertmanager has and we do not. */
const elsewhere = [
  "opsgenie_api_url",
  "opsgenie_api_key",
  "opsgenie_api_key_file",
  "wechat_api_url",
  "wechat_api_secret",
  "wechat_api_secret_file",
  "wechat_api_corp_id",
  "victorops_api_url",
  "victorops_api_key",
  "victorops_api_key_file",
  "webex_api_url",
  "jira_api_url",
  "rocketchat_api_url",
  "rocketchat_token",
  "rocketchat_token_file",
  "rocketchat_token_id",
  "rocketchat_token_id_file",
  "mattermost_webhook_url",
  "mattermost_webhook_url_file",
] as const;

export const globalSchema = v.strictObject({
  // Read with the routes.
  resolve_timeout: v.optional(duration()),
  http_config: httpConfig(),
  smtp_smarthost: v.optional(words("The mail server, as host:port.")),
  smtp_from: v.optional(words("The sender of emails.")),
  smtp_hello: v.optional(words("How we call ourselves to the mail server."), "localhost"),
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
  ...(Object.fromEntries(elsewhere.map((key) => [key, v.optional(v.unknown())])) as Record<
    (typeof elsewhere)[number],
    v.OptionalSchema<v.UnknownSchema, undefined>
  >),
});

export type Global = v.InferOutput<typeof globalSchema>;
