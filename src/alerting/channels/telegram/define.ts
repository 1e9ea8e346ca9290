/** `telegram_configs`: a message from a Telegram bot. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  choice,
  httpConfig,
  number,
  secret,
  secretFile,
  sendResolved,
  template,
  words,
  yesOrNo,
} from "../fields.ts";

export const telegram = defineChannel({
  name: "telegram",
  title: "Telegram",
  summary: "A message by a Telegram bot.",
  // Telegram accepts one message per second in a chat, and 20 per minute in a group.
  rate: { burst: 10, perMinute: 20 },
  example: `bot_token: $TELEGRAM_TOKEN
chat_id: -1001234567890`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    api_url: v.optional(words("The Bot API; without it, telegram_api_url.")),
    bot_token: v.optional(secret("The bot's token; $NAME takes it from the environment.")),
    bot_token_file: v.optional(secretFile("A file with that token.")),
    chat_id: v.optional(words("The chat, by its number.")),
    chat_id_file: v.optional(secretFile("A file with that number.")),
    message_thread_id: v.optional(number("The topic within a group.")),
    message: v.optional(template("The message."), '{{ template "telegram.default.message" . }}'),
    disable_notifications: v.optional(yesOrNo("Whether it arrives without a sound."), false),
    parse_mode: v.optional(
      choice(["", "HTML", "Markdown", "MarkdownV2"], "The mark-up of the message."),
      "HTML",
    ),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { global, wrong } = setting;
    const token = setting.neededSecret(
      "bot_token",
      "the bot's token",
      { value: given.bot_token, file: given.bot_token_file },
      { value: global.telegram_bot_token, file: global.telegram_bot_token_file },
    );
    const { chat_id_file: chatIdFile } = given;
    const chatId = given.chat_id === "0" ? undefined : given.chat_id;
    if (chatId === undefined && chatIdFile === undefined)
      wrong("chat_id", "give the chat_id the bot writes to.");
    if (chatId !== undefined && !/^-?\d{1,20}$/.test(chatId))
      wrong("chat_id", "a chat is given by its number.");
    const apiUrl = setting.url("api_url", given.api_url ?? global.telegram_api_url);
    if (token === undefined) return undefined;
    return {
      token,
      apiUrl: apiUrl.replace(/\/+$/, ""),
      chatId: chatId ?? setting.secret("chat_id", "the chat", undefined, chatIdFile) ?? "",
      threadId: given.message_thread_id,
      message: given.message,
      silent: given.disable_notifications,
      parseMode: given.parse_mode,
      http: setting.http(given.http_config),
    };
  },
  open: async (ready, context) => (await import("./send.ts")).openTelegram(ready, context),
});
