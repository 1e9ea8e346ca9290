/** `wechat_configs`: a message from a WeChat Work application. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  choice,
  httpConfig,
  secret,
  secretFile,
  sendResolved,
  template,
  words,
} from "../fields.ts";

export const wechat = defineChannel({
  name: "wechat",
  title: "WeChat Work",
  summary: "A message by an application of WeChat Work (WeCom).",
  rate: { burst: 10, perMinute: 30 },
  example: `corp_id: ww1234567890
api_secret: $WECHAT_SECRET
agent_id: '1000002'
to_user: '@all'`,
  options: v.strictObject({
    send_resolved: sendResolved(false),
    api_secret: v.optional(secret("The application's secret; without it, wechat_api_secret.")),
    api_secret_file: v.optional(secretFile("A file with that secret.")),
    corp_id: v.optional(template("The corporation's id; without it, wechat_api_corp_id.")),
    api_url: v.optional(words("WeChat Work's API; without it, wechat_api_url.")),
    message: v.optional(template("The message."), '{{ template "wechat.default.message" . }}'),
    message_type: v.optional(choice(["text", "markdown", ""], "text or markdown."), "text"),
    agent_id: v.optional(
      template("The application's id."),
      '{{ template "wechat.default.agent_id" . }}',
    ),
    to_user: v.optional(
      template("Users, with | between; @all for everybody."),
      '{{ template "wechat.default.to_user" . }}',
    ),
    to_party: v.optional(
      template("Departments, with | between."),
      '{{ template "wechat.default.to_party" . }}',
    ),
    to_tag: v.optional(
      template("Tags, with | between."),
      '{{ template "wechat.default.to_tag" . }}',
    ),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { global } = setting;
    const secretText = setting.neededSecret(
      "api_secret",
      "WeChat's secret",
      { value: given.api_secret, file: given.api_secret_file },
      { value: global.wechat_api_secret, file: global.wechat_api_secret_file },
    );
    const corpId = given.corp_id ?? global.wechat_api_corp_id ?? "";
    if (corpId === "") setting.wrong("corp_id", "give corp_id, or global wechat_api_corp_id.");
    const url = setting.url("api_url", given.api_url ?? global.wechat_api_url);
    if (secretText === undefined) return undefined;
    return { ...given, secretText, corpId, url, http: setting.http(given.http_config) };
  },
  open: async (ready, context) => (await import("./send.ts")).openWechat(ready, context),
});
