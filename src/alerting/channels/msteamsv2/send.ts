/** Posts an adaptive card in the form that Teams workflows accept. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import type { SecretText } from "../secret-text.ts";
import { shortenLines } from "../shorten.ts";

export interface ReadyMsteamsv2 {
  readonly url: SecretText;
  readonly http: HttpClientConfig;
  readonly title: string;
  readonly text: string;
}

/** Teams accepts messages of up to 28 KB in total. */
const longest = 20_000;

export function openMsteamsv2(ready: ReadyMsteamsv2, context: ChannelContext): OpenChannel {
  const title = context.text(ready.title);
  const text = context.text(ready.text);
  return openHttpChannel("Teams", ready.http, context, async (message) => {
    return {
      url: await ready.url.readUrl(),
      body: JSON.stringify({
        type: "message",
        attachments: [
          {
            contentType: "application/vnd.microsoft.card.adaptive",
            contentUrl: null,
            content: {
              $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
              type: "AdaptiveCard",
              version: "1.4",
              body: [
                {
                  type: "TextBlock",
                  text: title(message),
                  weight: "Bolder",
                  size: "Medium",
                  wrap: true,
                  style: "heading",
                  color: message.data.status === "firing" ? "Attention" : "Good",
                },
                { type: "TextBlock", text: shortenLines(text(message), longest), wrap: true },
              ],
              msteams: { width: "full" },
            },
          },
        ],
      }),
    };
  });
}
