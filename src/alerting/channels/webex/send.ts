/** Posts a message in Markdown to a Webex room. The bot's token is the authorization of http_config. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import { shortenBytes } from "../shorten.ts";

export interface ReadyWebex {
  readonly url: string;
  readonly roomId: string;
  readonly message: string;
  readonly http: HttpClientConfig;
}

const maxMessageBytes = 7_439;

export function openWebex(ready: ReadyWebex, context: ChannelContext): OpenChannel {
  const text = context.text(ready.message);
  const room = context.text(ready.roomId);
  return openHttpChannel("Webex", ready.http, context, async (message) => {
    return {
      url: ready.url,
      body: JSON.stringify({
        markdown: shortenBytes(text(message), maxMessageBytes),
        roomId: room(message),
      }),
    };
  });
}
