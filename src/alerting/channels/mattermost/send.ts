/** Posts to Mattermost's incoming webhook. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import { compileAll, printAll, withoutEmpty } from "../render.ts";
import type { SecretText } from "../secret-text.ts";
import { shortenLines } from "../shorten.ts";

type AttachmentPart =
  | "fallback"
  | "color"
  | "pretext"
  | "text"
  | "author_name"
  | "author_link"
  | "author_icon"
  | "title"
  | "title_link"
  | "thumb_url"
  | "footer"
  | "footer_icon"
  | "image_url";

interface Attachment extends Readonly<Record<AttachmentPart, string>> {
  readonly fields: readonly {
    readonly title: string;
    readonly value: string;
    readonly short?: boolean | undefined;
  }[];
}

export interface ReadyMattermost {
  readonly url: SecretText;
  readonly http: HttpClientConfig;
  readonly channel: string;
  readonly username: string;
  readonly text: string;
  readonly icon_url: string;
  readonly icon_emoji: string;
  readonly attachments: readonly Attachment[];
  readonly type: string;
  readonly props?: { readonly card: string } | undefined;
  readonly priority?:
    | {
        readonly priority: string;
        readonly requested_ack: boolean;
        readonly persistent_notifications: boolean;
      }
    | undefined;
}

/** In characters. */
const longestText = 16_383;

export function openMattermost(ready: ReadyMattermost, context: ChannelContext): OpenChannel {
  const { channel, username, icon_url, icon_emoji, type } = ready;
  const head = compileAll({ channel, username, icon_url, icon_emoji, type }, context);
  const text = context.text(ready.text);
  const card = context.text(ready.props?.card ?? "");
  const priority = context.text(ready.priority?.priority ?? "");
  const attachments = ready.attachments.map((one) => attachmentRenderer(one, context));
  return openHttpChannel("Mattermost", ready.http, context, async (message) => {
    const cardText = card(message);
    const priorityText = priority(message);
    return {
      url: await ready.url.readUrl(),
      body: JSON.stringify({
        text: shortenLines(text(message), longestText),
        ...withoutEmpty(printAll(head, message)),
        ...(attachments.length === 0
          ? {}
          : { attachments: attachments.map((render) => render(message)) }),
        ...(cardText === "" ? {} : { props: { card: cardText } }),
        ...(ready.priority === undefined || priorityText === ""
          ? {}
          : { priority: priorityOf(priorityText, ready.priority) }),
      }),
    };
  });
}

function attachmentRenderer({ fields, ...parts }: Attachment, context: ChannelContext) {
  const texts = compileAll<AttachmentPart>(parts, context);
  const rows = fields.map(({ title, value, short }) => ({
    short,
    texts: compileAll({ title, value }, context),
  }));
  return (message: ChannelMessage): object => ({
    ...withoutEmpty(printAll(texts, message)),
    ...(rows.length === 0
      ? {}
      : {
          fields: rows.map((row) => ({
            ...printAll(row.texts, message),
            ...(row.short === undefined ? {} : { short: row.short }),
          })),
        }),
  });
}

/** Mattermost accepts an acknowledgement request for important and urgent messages, and repeats only urgent ones. */
function priorityOf(
  printed: string,
  { requested_ack, persistent_notifications }: NonNullable<ReadyMattermost["priority"]>,
): object {
  const known = ["urgent", "important", "standard"].find((one) => one === printed.toLowerCase());
  const priority = known ?? "standard";
  return {
    priority,
    ...(requested_ack && priority !== "standard" ? { requested_ack } : {}),
    ...(persistent_notifications && priority === "urgent" ? { persistent_notifications } : {}),
  };
}
