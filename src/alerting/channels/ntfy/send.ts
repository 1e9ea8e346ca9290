/** Publishes to ntfy as JSON, so that titles may contain any character. */
import { NotifyError } from "../../route/notification.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten, shortenLines } from "../shorten.ts";

export interface ReadyNtfy {
  readonly url: string;
  readonly topic: SecretText;
  readonly token: SecretText | undefined;
  readonly title: string;
  readonly message: string;
  readonly priority: string;
  readonly tags: string;
  readonly click: string;
  readonly http: HttpClientConfig;
}

const longestTitle = 250;
/** A message over 4,096 bytes becomes an attachment, which phones do not show; two bytes per character is ample. */
const longestMessage = 2_000;

export function openNtfy(ready: ReadyNtfy, context: ChannelContext): OpenChannel {
  const title = context.text(ready.title);
  const text = context.text(ready.message);
  const priority = context.text(ready.priority);
  const tags = context.text(ready.tags);
  const click = context.text(ready.click);
  return openHttpChannel("ntfy", ready.http, context, async (message) => {
    const level = Number(priority(message).trim());
    if (!Number.isInteger(level) || level < 1 || level > 5)
      throw new NotifyError("ntfy's priority must come out as a number from 1 to 5", {
        retryable: false,
      });
    const leads = click(message).trim();
    const token = await ready.token?.read();
    return {
      url: ready.url,
      body: JSON.stringify({
        topic: await ready.topic.read(),
        title: shorten(title(message), longestTitle),
        message: shortenLines(text(message), longestMessage),
        priority: level,
        tags: tags(message)
          .split(",")
          .map((tag) => tag.trim())
          .filter((tag) => tag !== ""),
        ...(leads === "" ? {} : { click: leads }),
      }),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    };
  });
}
