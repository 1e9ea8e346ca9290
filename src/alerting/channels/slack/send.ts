/** Posts to Slack. Slack's API also reports errors with status 200, so the JSON body decides about success. */
import { NotifyError } from "../../route/notification.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, ChannelMessage, OpenChannel, Render } from "../channel.ts";
import { NotificationPoster } from "../post.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten } from "../shorten.ts";

interface Field {
  readonly title: string;
  readonly value: string;
  readonly short?: boolean | undefined;
}

interface Confirm {
  readonly text: string;
  readonly title?: string | undefined;
  readonly ok_text?: string | undefined;
  readonly dismiss_text?: string | undefined;
}

interface Action {
  readonly type: string;
  readonly text: string;
  readonly url?: string | undefined;
  readonly style?: string | undefined;
  readonly name?: string | undefined;
  readonly value?: string | undefined;
  readonly confirm?: Confirm | undefined;
}

export interface ReadySlack {
  readonly to: { readonly url: SecretText } | { readonly token: SecretText; readonly url: string };
  readonly http: HttpClientConfig;
  readonly timeoutMs: number | undefined;
  readonly channel: string;
  readonly username: string;
  readonly color: string;
  readonly title: string;
  readonly title_link: string;
  readonly pretext: string;
  readonly text: string;
  readonly message_text?: string | undefined;
  readonly fallback: string;
  readonly callback_id: string;
  readonly footer: string;
  readonly icon_emoji: string;
  readonly icon_url: string;
  readonly image_url?: string | undefined;
  readonly thumb_url?: string | undefined;
  readonly link_names: boolean;
  readonly short_fields: boolean;
  readonly mrkdwn_in: readonly string[];
  readonly fields: readonly Field[];
  readonly actions: readonly Action[];
}

const maxTitle = 1_024;
/** Slack shows at most this much text. */
const maxText = 8_000;
const retried = new Set([
  "rate_limited",
  "ratelimited",
  "internal_error",
  "fatal_error",
  "service_unavailable",
]);

export function openSlack(ready: ReadySlack, context: ChannelContext): OpenChannel {
  const poster = new NotificationPoster("Slack", ready.http, context.hidden, context.nowMs);
  const bodyOf = bodyRenderer(ready, context);
  return {
    send: async (message, signal) => {
      const { to } = ready;
      const answer = await poster.post({
        url: "token" in to ? to.url : await to.url.readUrl(),
        body: JSON.stringify(bodyOf(message)),
        headers: "token" in to ? { authorization: `Bearer ${await to.token.read()}` } : {},
        idempotencyKey: message.notification.idempotencyKey,
        signal,
        ...(ready.timeoutMs === undefined ? {} : { timeoutMs: ready.timeoutMs }),
      });
      const refusal = refusalOf(answer.body);
      if (refusal !== undefined)
        throw new NotifyError(`Slack refused it: ${refusal}`, {
          retryable: retried.has(refusal),
        });
    },
    close: () => poster.close(),
  };
}

function refusalOf(body: Buffer): string | undefined {
  try {
    const response = JSON.parse(body.toString("utf8")) as { ok?: unknown; error?: unknown } | null;
    if (response?.ok !== false) return undefined;
    return typeof response.error === "string" ? response.error : "no reason given";
  } catch {
    // Not JSON: a webhook responds with the word ok.
    return undefined;
  }
}

function bodyRenderer(ready: ReadySlack, context: ChannelContext) {
  const of = (source: string | undefined): Render => context.text(source ?? "");
  const head = {
    channel: of(ready.channel),
    username: of(ready.username),
    icon_emoji: of(ready.icon_emoji),
    icon_url: of(ready.icon_url),
    text: of(ready.message_text),
  };
  const parts = {
    title: of(ready.title),
    title_link: of(ready.title_link),
    pretext: of(ready.pretext),
    text: of(ready.text),
    fallback: of(ready.fallback),
    callback_id: of(ready.callback_id),
    image_url: of(ready.image_url),
    thumb_url: of(ready.thumb_url),
    footer: of(ready.footer),
    color: of(ready.color),
  };
  const fields = ready.fields.map((field) => ({
    short: field.short ?? ready.short_fields,
    render: { title: of(field.title), value: of(field.value) },
  }));
  const actions = ready.actions.map(({ type, text, url, style, name, value, confirm }) => ({
    render: {
      type: of(type),
      text: of(text),
      url: of(url),
      style: of(style),
      name: of(name),
      value: of(value),
    },
    confirm: confirm && {
      text: of(confirm.text),
      title: of(confirm.title),
      ok_text: of(confirm.ok_text),
      dismiss_text: of(confirm.dismiss_text),
    },
  }));
  return (message: ChannelMessage) => {
    const attachment = printed(parts, message);
    return {
      ...printed(head, message),
      ...(ready.link_names ? { link_names: true } : {}),
      attachments: [
        {
          ...attachment,
          ...cut(attachment, "title", maxTitle),
          ...cut(attachment, "text", maxText),
          mrkdwn_in: ready.mrkdwn_in,
          ...(fields.length === 0
            ? {}
            : {
                fields: fields.map(({ short, render }) => ({ ...printed(render, message), short })),
              }),
          ...(actions.length === 0
            ? {}
            : {
                actions: actions.map(({ render, confirm }) => ({
                  ...printed(render, message),
                  ...(confirm === undefined ? {} : { confirm: printed(confirm, message) }),
                })),
              }),
        },
      ],
    };
  };
}

/** Renders the templates and drops empty results. */
function printed(
  renders: Readonly<Record<string, Render>>,
  message: ChannelMessage,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(renders)
      .map(([name, render]) => [name, render(message)] as const)
      .filter(([, text]) => text !== ""),
  );
}

const cut = (texts: Readonly<Record<string, string>>, name: string, longest: number) => {
  const text = texts[name];
  return text === undefined ? {} : { [name]: shorten(text, longest) };
};
