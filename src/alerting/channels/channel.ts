/** The declaration of a channel: from it files are read, forms rendered and messages sent. */
import type * as v from "valibot";
import type { Notification } from "../route/notification.ts";
import type { HttpClientConfig, TlsConfig } from "../../net/http/auth-config.ts";
import type { Secret } from "../../net/http/secret.ts";
import type { Log } from "../../base/log.ts";
import type { HttpRaw } from "../../sources/scrape/config/http-section.ts";
import type { NotificationData } from "../../formats/template/functions/alertmanager.ts";
import type { GoObject } from "../../formats/template/value.ts";
import type { Environment } from "./environment.ts";
import type { Global } from "./global.ts";
import type { SecretRedactor } from "./secret-redactor.ts";
import type { SecretText } from "./secret-text.ts";

/** A notification as channels see it. */
export interface ChannelMessage {
  readonly notification: Notification;
  readonly data: NotificationData;
  /** The data as templates see it. */
  readonly value: GoObject;
}

export type Render = (message: ChannelMessage) => string;

/** Keys of the global section whose value is an address. */
export type AddressKey = "smtp_smarthost" | "smtp_from" | "smtp_auth_username";

/** A secret as an entry has it: written down, or in a file. */
export interface SecretOrFile {
  readonly value: Secret | undefined;
  readonly file: string | undefined;
}

/** The context of an entry while the file is read. */
export interface EntryContext {
  readonly global: Global;
  /** A mistake; the file is refused with all of them. */
  readonly wrong: (key: string, sentence: string) => void;
  readonly warn: (key: string, sentence: string) => void;
  readonly env: Environment;
  /** What stands under a key, with numbers and truth values as such. */
  readonly typed: (key: string) => unknown;
  /** The entry's value, or else the global one, expanded from the environment; errors are reported where it is written. */
  address(
    key: string,
    value: string | undefined,
    globalKey?: AddressKey,
  ): { readonly text: string; readonly wrong: (sentence: string) => void };
  /** The one of the two that is given, with the environment's variables put in. */
  secret(
    key: string,
    what: string,
    value: Secret | undefined,
    file: string | undefined,
  ): SecretText | undefined;
  /** As `secret`, or else the one of the global section; a mistake where neither is given. */
  neededSecret(
    key: string,
    what: string,
    own: SecretOrFile,
    fallback?: SecretOrFile,
  ): SecretText | undefined;
  /** As `secret`, for an address that is one: checked where it is known already. */
  secretUrl(
    key: string,
    what: string,
    value: Secret | undefined,
    file: string | undefined,
  ): SecretText | undefined;
  /** A mistake unless it begins with http:// or https://. */
  url(key: string, text: string): string;
  /** Of the entry, or else of the global section. */
  http(given: HttpRaw | undefined): HttpClientConfig;
  tls(key: string, given: HttpRaw["tls_config"]): TlsConfig;
}

/** While a channel is opened. */
export interface ChannelContext {
  readonly receiver: string;
  readonly hidden: SecretRedactor;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Checked now, printed later. @throws TemplateError */
  text(source: string): Render;
  html(source: string): Render;
}

export interface OpenChannel {
  /** Resolves when the service has accepted it. @throws NotifyError */
  send(message: ChannelMessage, signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface Rate {
  readonly burst: number;
  readonly perMinute: number;
}

export interface ChannelDefinition<
  Schema extends v.GenericSchema = v.GenericSchema,
  Ready = unknown,
> {
  /** `email`; its entries stand under `email_configs`. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** Without `http_config` and the like it is what a form shows. */
  readonly options: Schema;
  /** An entry as it stands in a file. */
  readonly example: string;
  /** At most as often as the service likes it. */
  readonly rate: Rate;
  /** The service keeps an incident open until the resolved notification. */
  readonly staysOpen?: true;
  /** Puts in what the global section says; mistakes go to the setting. */
  prepare(options: v.InferOutput<Schema>, setting: EntryContext): Ready | undefined;
  open(ready: Ready, context: ChannelContext): Promise<OpenChannel>;
}

/** An entry that was read and can be opened. */
export type Opener = (context: ChannelContext) => Promise<OpenChannel>;

export interface Channel {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly options: v.GenericSchema;
  readonly example: string;
  readonly rate: Rate;
  readonly staysOpen: boolean;
  /** The entry has passed `options`. */
  prepare(entry: unknown, setting: EntryContext): Opener | undefined;
}

export function defineChannel<Schema extends v.GenericSchema, Ready>(
  definition: ChannelDefinition<Schema, Ready>,
): Channel {
  const { name, title, summary, options, example, rate, staysOpen = false } = definition;
  return {
    name,
    title,
    summary,
    options,
    example,
    rate,
    staysOpen,
    prepare: (entry, setting) => {
      const ready = definition.prepare(entry, setting);
      return ready === undefined ? undefined : (context) => definition.open(ready, context);
    },
  };
}
