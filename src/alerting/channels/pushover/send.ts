/** Posts to Pushover's message API. The parameters, including both keys, are in the query, so the URL is never shown. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import { compileAll, printAll, readSecret } from "../render.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten } from "../shorten.ts";

export interface ReadyPushover {
  readonly userKey: SecretText;
  readonly token: SecretText;
  readonly http: HttpClientConfig;
  readonly title: string;
  readonly message: string;
  readonly url: string;
  readonly url_title: string;
  readonly device: string;
  readonly sound: string;
  readonly priority: string;
  readonly retryMs: number;
  readonly expireMs: number;
  readonly ttlMs: number;
  readonly html: boolean;
  readonly monospace: boolean;
}

const api = "https://api.pushover.net/1/messages.json";
/** In characters. */
const longest = { title: 250, message: 1_024, url: 512, urlTitle: 100 };

export function openPushover(ready: ReadyPushover, context: ChannelContext): OpenChannel {
  const { title, url, url_title, device, sound, priority } = ready;
  const texts = compileAll({ title, url, url_title, device, sound, priority }, context);
  const body = ready.html ? context.html(ready.message) : context.text(ready.message);
  return openHttpChannel("Pushover", ready.http, context, async (message) => {
    const text = printAll(texts, message);
    const words = shorten(body(message), longest.message).trim();
    const ttlSeconds = seconds(ready.ttlMs);
    const parameters = new URLSearchParams({
      token: await readSecret(ready.token, message, context),
      user: await readSecret(ready.userKey, message, context),
      title: shorten(text.title, longest.title),
      ...(ready.html ? { html: "1" } : {}),
      ...(ready.monospace ? { monospace: "1" } : {}),
      // Pushover rejects an empty message.
      message: words === "" ? "(no details)" : words,
      url: shorten(text.url, longest.url),
      url_title: shorten(text.url_title, longest.urlTitle),
      priority: text.priority,
      retry: seconds(ready.retryMs),
      expire: seconds(ready.expireMs),
      device: text.device,
      sound: text.sound,
      ...(ttlSeconds === "0" ? {} : { ttl: ttlSeconds }),
    });
    parameters.sort();
    return {
      url: `${api}?${parameters.toString()}`,
      body: "",
      contentType: "text/plain",
    };
  });
}

const seconds = (durationMs: number): string => String(Math.floor(durationMs / 1_000));
