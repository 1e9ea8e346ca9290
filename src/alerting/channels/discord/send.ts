/** Posts an embed to Discord, cut to Discord's limits. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten, shortenLines } from "../shorten.ts";

export interface ReadyDiscord {
  readonly url: SecretText;
  readonly http: HttpClientConfig;
  readonly title: string;
  readonly message: string;
  readonly content: string;
  readonly username: string;
  readonly avatar_url: string;
}

const longest = { title: 256, description: 4_096, content: 2_000, username: 80 };
const colours = { firing: 0xc4281c, resolved: 0x1a7f37 };

export function openDiscord(ready: ReadyDiscord, context: ChannelContext): OpenChannel {
  const title = context.text(ready.title);
  const description = context.text(ready.message);
  const content = context.text(ready.content);
  const username = context.text(ready.username);
  const avatar = context.text(ready.avatar_url);
  return openHttpChannel("Discord", ready.http, context, async (message) => {
    const avatarUrl = avatar(message);
    const name = shorten(username(message), longest.username);
    return {
      url: await ready.url.readUrl(),
      body: JSON.stringify({
        content: shorten(content(message), longest.content),
        embeds: [
          {
            title: shorten(title(message), longest.title),
            description: shortenLines(description(message), longest.description),
            color: colours[message.data.status],
          },
        ],
        ...(name === "" ? {} : { username: name }),
        ...(/^https?:\/\//.test(avatarUrl) ? { avatar_url: avatarUrl } : {}),
      }),
    };
  });
}
