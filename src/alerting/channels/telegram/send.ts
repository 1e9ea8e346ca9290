/** Posts to Telegram's Bot API. The URL contains the token, so it is never shown. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import type { SecretText } from "../secret-text.ts";
import { shortenLines } from "../shorten.ts";

export interface ReadyTelegram {
  readonly token: SecretText;
  readonly apiUrl: string;
  readonly chatId: string | SecretText;
  readonly threadId: number | undefined;
  readonly message: string;
  readonly silent: boolean;
  readonly parseMode: string;
  readonly http: HttpClientConfig;
}

const longest = 4_096;

export function openTelegram(ready: ReadyTelegram, context: ChannelContext): OpenChannel {
  const text =
    ready.parseMode === "HTML" ? context.html(ready.message) : context.text(ready.message);
  return openHttpChannel("Telegram", ready.http, context, async (message) => {
    const { chatId, threadId, parseMode } = ready;
    const chat = typeof chatId === "string" ? chatId : await chatId.read();
    return {
      url: `${ready.apiUrl}/bot${encodeURIComponent(await ready.token.read()).replaceAll("%3A", ":")}/sendMessage`,
      body: JSON.stringify({
        chat_id: chat,
        ...(threadId === undefined || threadId === 0 ? {} : { message_thread_id: threadId }),
        text: shortenLines(text(message), longest),
        ...(parseMode === "" ? {} : { parse_mode: parseMode }),
        disable_notification: ready.silent,
        link_preview_options: { is_disabled: true },
      }),
    };
  });
}
