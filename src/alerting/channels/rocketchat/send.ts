/** Posts to Rocket.Chat's REST API, which also reports errors with status 200 and an error in the JSON. */
import { NotifyError } from "../../route/notification.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import { NotificationPoster } from "../post.ts";
import { compileAll, printAll, urlBelow, withoutEmpty } from "../render.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten } from "../shorten.ts";

export interface ReadyRocketchat {
  readonly token: SecretText;
  readonly tokenId: SecretText;
  readonly url: string;
  readonly http: HttpClientConfig;
  readonly channel: string;
  readonly color: string;
  readonly title: string;
  readonly title_link: string;
  readonly text: string;
  readonly emoji: string;
  readonly icon_url: string;
  readonly image_url: string;
  readonly thumb_url: string;
  readonly short_fields: boolean;
  readonly fields: readonly {
    readonly title: string;
    readonly value: string;
    readonly short?: boolean | undefined;
  }[];
  readonly actions: readonly {
    readonly text: string;
    readonly url: string;
    readonly msg: string;
  }[];
}

const longestTitle = 1_024;

export function openRocketchat(ready: ReadyRocketchat, context: ChannelContext): OpenChannel {
  const poster = new NotificationPoster("Rocket.Chat", ready.http, context.hidden, context.nowMs);
  const bodyOf = bodyRenderer(ready, context);
  return {
    send: async (message, signal) => {
      const response = await poster.post({
        url: urlBelow(ready.url, "api/v1/chat.postMessage"),
        body: JSON.stringify(bodyOf(message)),
        headers: {
          "x-auth-token": await ready.token.read(),
          "x-user-id": await ready.tokenId.read(),
        },
        idempotencyKey: message.notification.idempotencyKey,
        signal,
      });
      refuseFailure(response.body);
    },
    close: () => poster.close(),
  };
}

function refuseFailure(body: Buffer): void {
  let response: { readonly success?: unknown; readonly error?: unknown } | null;
  try {
    response = JSON.parse(body.toString("utf8")) as typeof response;
  } catch {
    throw new NotifyError("Rocket.Chat's response is not JSON", { retryable: true });
  }
  if (response?.success === true) return;
  const why = typeof response?.error === "string" ? response.error : "no reason given";
  throw new NotifyError(`Rocket.Chat refused it: ${why}`, { retryable: false });
}

function bodyRenderer(ready: ReadyRocketchat, context: ChannelContext) {
  const { channel, emoji, icon_url: avatar } = ready;
  const { title, title_link, text, image_url, thumb_url, color } = ready;
  const head = compileAll({ channel, emoji, avatar }, context);
  const parts = compileAll({ title, title_link, text, image_url, thumb_url, color }, context);
  const fields = ready.fields.map((field) => ({
    short: field.short ?? ready.short_fields,
    texts: compileAll({ title: field.title, value: field.value }, context),
  }));
  const actions = ready.actions.map((action) =>
    compileAll({ text: action.text, url: action.url, msg: action.msg }, context),
  );
  return (message: ChannelMessage) => {
    const attachment = printAll(parts, message);
    return {
      ...withoutEmpty(printAll(head, message)),
      attachments: [
        {
          ...withoutEmpty({ ...attachment, title: shorten(attachment.title, longestTitle) }),
          ...(fields.length === 0
            ? {}
            : {
                fields: fields.map(({ short, texts }) => ({
                  short,
                  ...withoutEmpty(printAll(texts, message)),
                })),
              }),
          ...(actions.length === 0
            ? {}
            : {
                actions: actions.map((action) => ({
                  type: "button",
                  ...withoutEmpty(printAll(action, message)),
                  is_webview: false,
                  msg_in_chat_window: false,
                })),
              }),
        },
      ],
    };
  };
}
