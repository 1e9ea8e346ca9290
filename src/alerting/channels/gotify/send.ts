/** Posts to Gotify. The token is sent as a bearer token, since any other header would be forwarded by a redirect. */
import { NotifyError } from "../../route/notification.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten, shortenLines } from "../shorten.ts";

export interface ReadyGotify {
  readonly url: string;
  readonly token: SecretText;
  readonly title: string;
  readonly message: string;
  readonly priority: string;
  readonly click: string;
  readonly http: HttpClientConfig;
}

const longestTitle = 250;
const longestMessage = 20_000;

export function openGotify(ready: ReadyGotify, context: ChannelContext): OpenChannel {
  const title = context.text(ready.title);
  const text = context.text(ready.message);
  const priority = context.text(ready.priority);
  const click = context.text(ready.click);
  return openHttpChannel("Gotify", ready.http, context, async (message) => {
    const level = Number(priority(message).trim());
    if (!Number.isInteger(level) || level < 0 || level > 10)
      throw new NotifyError("Gotify's priority must come out as a number from 0 to 10", {
        retryable: false,
      });
    const leads = click(message).trim();
    return {
      url: ready.url,
      body: JSON.stringify({
        title: shorten(title(message), longestTitle),
        message: shortenLines(text(message), longestMessage),
        priority: level,
        extras: {
          "client::display": { contentType: "text/markdown" },
          ...(leads === "" ? {} : { "client::notification": { click: { url: leads } } }),
        },
      }),
      headers: { authorization: `Bearer ${await ready.token.read()}` },
    };
  });
}
