/** `rocketchat_configs`: an attachment in a Rocket.Chat channel, with a personal access token. */
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
  words,
  yesOrNo,
} from "../fields.ts";

const fieldEntry = v.strictObject({
  title: v.optional(template("The field's name."), ""),
  value: v.optional(template("Its value."), ""),
  short: v.optional(yesOrNo("Whether it may stand beside another.")),
});

/**
 * A button whatever its `type` is: Rocket.Chat has no other action. Alertmanager reads the last five keys and sends none of them.
 */
const actionEntry = v.strictObject({
  type: v.optional(words("`button`.")),
  text: v.optional(template("What stands on it."), ""),
  url: v.optional(template("Where it leads."), ""),
  msg: v.optional(template("What it posts."), ""),
  imageurl: v.optional(words("Not sent.")),
  iswebview: v.optional(yesOrNo("Not sent.")),
  webviewheightratio: v.optional(words("Not sent.")),
  msginchatwindow: v.optional(yesOrNo("Not sent.")),
  msgprocessingtype: v.optional(words("Not sent.")),
});

export const rocketchat = defineChannel({
  name: "rocketchat",
  title: "Rocket.Chat",
  summary: "A message in a Rocket.Chat channel, by a personal access token.",
  rate: { burst: 10, perMinute: 60 },
  example: `api_url: https://chat.example.com
token: $ROCKETCHAT_TOKEN
token_id: $ROCKETCHAT_USER_ID
channel: '#gpus'`,
  options: v.strictObject({
    send_resolved: sendResolved(false),
    api_url: v.optional(words("The server; without it, rocketchat_api_url.")),
    token: v.optional(secret("A personal access token; without it, rocketchat_token.")),
    token_file: v.optional(secretFile("A file with that token.")),
    token_id: v.optional(secret("The user id of that token; without it, rocketchat_token_id.")),
    token_id_file: v.optional(secretFile("A file with that id.")),
    channel: v.optional(template("The channel: #name or @user."), ""),
    color: v.optional(
      template("The colour of the bar."),
      '{{ if eq .Status "firing" }}red{{ else }}green{{ end }}',
    ),
    title: v.optional(template("The first line."), '{{ template "rocketchat.default.title" . }}'),
    title_link: v.optional(
      template("Where it leads."),
      '{{ template "rocketchat.default.titlelink" . }}',
    ),
    text: v.optional(template("The message."), '{{ template "rocketchat.default.text" . }}'),
    fields: advanced(items(fieldEntry), "Names and values in a table."),
    short_fields: v.optional(yesOrNo("Whether fields stand two in a row."), false),
    emoji: v.optional(
      template("The sender's emoji."),
      '{{ template "rocketchat.default.emoji" . }}',
    ),
    icon_url: v.optional(
      template("The sender's picture."),
      '{{ template "rocketchat.default.iconurl" . }}',
    ),
    image_url: v.optional(template("A picture below."), ""),
    thumb_url: v.optional(template("A picture beside."), ""),
    link_names: v.optional(
      yesOrNo("Accepted for Alertmanager's sake; Rocket.Chat links names."),
      false,
    ),
    actions: advanced(items(actionEntry), "Buttons below."),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { global } = setting;
    const token = setting.neededSecret(
      "token",
      "Rocket.Chat's token",
      { value: given.token, file: given.token_file },
      { value: global.rocketchat_token, file: global.rocketchat_token_file },
    );
    const tokenId = setting.neededSecret(
      "token_id",
      "Rocket.Chat's user id",
      { value: given.token_id, file: given.token_id_file },
      { value: global.rocketchat_token_id, file: global.rocketchat_token_id_file },
    );
    const url = setting.url("api_url", given.api_url ?? global.rocketchat_api_url);
    if (token === undefined || tokenId === undefined) return undefined;
    return { ...given, token, tokenId, url, http: setting.http(given.http_config) };
  },
  open: async (ready, context) => (await import("./send.ts")).openRocketchat(ready, context),
});
