/** Posts a MessageCard, the older card format of Teams. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import type { SecretText } from "../secret-text.ts";
import { shortenLines } from "../shorten.ts";

export interface ReadyMsteams {
  readonly url: SecretText;
  readonly http: HttpClientConfig;
  readonly title: string;
  readonly summary: string;
  readonly text: string;
}

const colours = { firing: "C4281C", resolved: "1A7F37" };
/** Teams accepts messages of up to 28 KB in total. */
const longest = 20_000;

export function openMsteams(ready: ReadyMsteams, context: ChannelContext): OpenChannel {
  const title = context.text(ready.title);
  const summary = context.text(ready.summary);
  const text = context.text(ready.text);
  return openHttpChannel("Teams", ready.http, context, async (message) => {
    return {
      url: await ready.url.readUrl(),
      body: JSON.stringify({
        "@context": "http://schema.org/extensions",
        "@type": "MessageCard",
        type: "MessageCard",
        title: title(message),
        summary: summary(message),
        text: shortenLines(text(message), longest),
        themeColor: colours[message.data.status],
      }),
    };
  });
}
