/**
 * Sends an email. It counts as delivered once the server acknowledges the message after its last byte. Recipients that the server
 * rejects temporarily are retried alone, since the others already have the message.
 */
import { createHash } from "node:crypto";
import MailComposer from "nodemailer/lib/mail-composer";
import addressparser from "nodemailer/lib/addressparser";
import type { TlsConfig } from "../../../net/http/auth-config.ts";
import { NotifyError } from "../../route/notification.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import type { SecretText } from "../secret-text.ts";
import { tlsOptions } from "../tls-files.ts";
import { sendOver, type SmtpLogin } from "./session.ts";

export interface ReadyEmail {
  readonly to: string;
  readonly from: string;
  readonly host: string;
  readonly port: number;
  readonly hello: string;
  readonly implicitTls: boolean;
  readonly requireTls: boolean;
  readonly mayShowPassword: boolean;
  readonly tls: TlsConfig;
  readonly auth:
    | {
        readonly username: string;
        readonly identity: string;
        readonly password: SecretText | undefined;
        readonly cramSecret: SecretText | undefined;
      }
    | undefined;
  readonly headers: ReadonlyMap<string, string>;
  readonly html: string;
  readonly text: string;
  readonly threading: "none" | "daily" | "one";
}

/** Limit of notifications with recipients still to be retried. */
const maxPartial = 100;

export function openEmail(ready: ReadyEmail, context: ChannelContext): OpenChannel {
  const render = {
    to: context.text(ready.to),
    from: context.text(ready.from),
    html: context.html(ready.html),
    text: context.text(ready.text),
    headers: [...ready.headers].map(([name, value]) => [name, context.text(value)] as const),
    subject: context.text('{{ template "email.default.subject" . }}'),
  };
  const taken = new Map<string, ReadonlySet<string>>();

  const compose = async (message: ChannelMessage) => {
    const headers = new Map(render.headers.map(([name, value]) => [name, value(message)]));
    const from = oneLine(render.from(message));
    const to = oneLine(render.to(message));
    const sender = addressesOf(from)[0];
    if (sender === undefined) throw refused(`"${from}" is not an address to send from`);
    const recipients = addressesOf(to);
    if (recipients.length === 0) throw refused(`"${to}" has no address to send to`);
    const { idempotencyKey } = message.notification;
    const domain = sender.slice(sender.lastIndexOf("@") + 1);
    const thread = threadOf(message, ready.threading, context.nowMs(), domain);
    const take = (name: string): string | undefined => {
      const value = headers.get(name);
      headers.delete(name);
      return value === undefined ? undefined : oneLine(value);
    };
    const built = await new MailComposer({
      from: take("From") ?? from,
      to: take("To") ?? to,
      ...optionalEntry("cc", take("Cc")),
      ...optionalEntry("replyTo", take("Reply-To")),
      subject: take("Subject") ?? oneLine(render.subject(message)),
      ...optionalEntry("text", nonEmpty(render.text(message))),
      ...optionalEntry("html", nonEmpty(render.html(message))),
      // The same for every attempt, so that a mail server can detect a duplicate.
      messageId: take("Message-Id") ?? `<${idempotencyKey}@${domain}>`,
      date: new Date(context.nowMs()),
      ...(thread === undefined ? {} : { references: thread, inReplyTo: thread }),
      headers: {
        "X-Gpulse-Idempotency-Key": idempotencyKey,
        "Auto-Submitted": "auto-generated",
        ...Object.fromEntries([...headers].map(([name, value]) => [name, oneLine(value)])),
      },
      disableFileAccess: true,
      disableUrlAccess: true,
    })
      .compile()
      .build();
    return { sender, recipients, bytes: built };
  };

  return {
    send: async (message, signal) => {
      if (ready.auth !== undefined && !ready.mayShowPassword)
        throw refused(
          `the password is not sent to ${ready.host} without TLS: set require_tls to true`,
        );
      const { sender, recipients, bytes } = await compose(message);
      const { idempotencyKey } = message.notification;
      const before = taken.get(idempotencyKey) ?? new Set<string>();
      const rest = recipients.filter((address) => !before.has(address));
      const { accepted, later, never } = await sendOver(
        {
          host: ready.host,
          port: ready.port,
          hello: ready.hello,
          implicitTls: ready.implicitTls,
          requireTls: ready.requireTls,
          tls: await tlsOptions(ready.tls),
          login: await loginOf(ready, context),
        },
        { from: sender, to: rest },
        bytes,
        signal,
      );
      if (never.length > 0)
        context.log.warn("mail server rejected recipients", {
          receiver: context.receiver,
          recipients: never.join(", "),
        });
      taken.delete(idempotencyKey);
      if (later.length === 0) return;
      taken.set(idempotencyKey, new Set([...before, ...accepted, ...never]));
      for (const oldest of [...taken.keys()].slice(0, -maxPartial)) taken.delete(oldest);
      throw new NotifyError(`the mail server temporarily rejects ${later.join(", ")} for now`, {
        retryable: true,
      });
    },
    close: () => taken.clear(),
  };
}

async function loginOf(
  { auth }: ReadyEmail,
  { hidden }: ChannelContext,
): Promise<SmtpLogin | undefined> {
  if (auth === undefined) return undefined;
  const { username, identity, password, cramSecret } = auth;
  const secret = await (password ?? cramSecret)?.read();
  if (secret === undefined) return undefined;
  hidden.add(`\0${username}\0${secret}`);
  hidden.add(`${identity}\0${username}\0${secret}`);
  return { username, identity, secret, cramMd5: password === undefined };
}

function addressesOf(text: string): string[] {
  const found = addressparser(text, { flatten: true }).map(({ address }) => address);
  return [...new Set(found.filter((address): address is string => /.@./.test(address ?? "")))];
}

/** Returns the thread's id: one thread per group, or per group and day. */
function threadOf(
  { notification }: ChannelMessage,
  threading: ReadyEmail["threading"],
  nowMs: number,
  domain: string,
): string | undefined {
  if (threading === "none") return undefined;
  const day = threading === "daily" ? new Date(nowMs).toISOString().slice(0, 10) : "";
  const hash = createHash("sha256")
    .update(`${notification.groupKey}\n${day}`)
    .digest("hex")
    .slice(0, 32);
  return `<thread-${hash}@${domain}>`;
}

const refused = (sentence: string): NotifyError => new NotifyError(sentence, { retryable: false });
/** Removes whatever could end a header or make a mail client misread where it ends. */
const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, " ").trim();
const nonEmpty = (text: string): string | undefined => (text === "" ? undefined : text);
const optionalEntry = <Key extends string>(key: Key, value: string | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { readonly [Name in Key]?: string };
