/** `webex_configs`: a message in a Webex room, with a bot's token. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { filledTemplate, httpConfig, sendResolved, template, words } from "../fields.ts";
import { hasAuthorization } from "../entry-context.ts";

export const webex = defineChannel({
  name: "webex",
  title: "Webex",
  summary: "A message in a Webex room, by a bot's token.",
  rate: { burst: 10, perMinute: 60 },
  example: `room_id: Y2lzY29zcGFyazovL3VzL1JPT00v
http_config: { authorization: { credentials: $WEBEX_TOKEN } }`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    api_url: v.optional(words("The messages API; without it, webex_api_url.")),
    room_id: filledTemplate("The room."),
    message: v.optional(
      template("The message, in Markdown."),
      '{{ template "webex.default.message" . }}',
    ),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const url = setting.url("api_url", given.api_url ?? setting.global.webex_api_url);
    if (!hasAuthorization(given.http_config))
      setting.wrong("http_config", "give http_config.authorization with the bot's token.");
    return {
      url,
      roomId: given.room_id,
      message: given.message,
      http: setting.http(given.http_config),
    };
  },
  open: async (ready, context) => (await import("./send.ts")).openWebex(ready, context),
});
