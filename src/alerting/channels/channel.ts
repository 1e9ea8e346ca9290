/** The declaration of a notification channel: it drives how configuration is read, forms are rendered and messages are sent. */
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

/** A notification as passed to channels. */
export interface ChannelMessage {
  readonly notification: Notification;
  readonly data: NotificationData;
  /** `data` in the form that templates use. */
  readonly value: GoObject;
}

export type Render = (message: ChannelMessage) => string;

/** Keys of the global section whose value is an address and may contain environment variables. */
export type AddressKey = "smtp_smarthost" | "smtp_from" | "smtp_auth_username";

/** A secret of an entry: given inline or in a file. */
export interface SecretOrFile {
  readonly value: Secret | undefined;
  readonly file: string | undefined;
}

/** What a channel may use while its entry is read. */
export interface EntryContext {
  readonly global: Global;
  /** Reports an error; the file is rejected with all of them. */
  readonly wrong: (key: string, sentence: string) => void;
  readonly warn: (key: string, sentence: string) => void;
  readonly env: Environment;
  /** Returns the value of a key, with numbers and booleans as such. */
  readonly typed: (key: string) => unknown;
  /**
   * Returns the entry's value, or else the global one, with environment variables expanded. Errors point at where the value is
   * written.
   */
  address(
    key: string,
    value: string | undefined,
    globalKey?: AddressKey,
  ): { readonly text: string; readonly wrong: (sentence: string) => void };
  /** Returns `value` or the content of `file`, with environment variables expanded. */
  secret(
    key: string,
    what: string,
    value: Secret | undefined,
    file: string | undefined,
  ): SecretText | undefined;
  /** Like `secret`, but falls back to the global section; reports an error if both are missing. */
  neededSecret(
    key: string,
    what: string,
    own: SecretOrFile,
    fallback?: SecretOrFile,
  ): SecretText | undefined;
  /** Like `secret`, for a URL; an inline value is validated at once. */
  secretUrl(
    key: string,
    what: string,
    value: Secret | undefined,
    file: string | undefined,
  ): SecretText | undefined;
  /** Reports an error unless the text begins with http:// or https://. */
  url(key: string, text: string): string;
  /** Returns the HTTP settings of the entry, or else of the global section. */
  http(given: HttpRaw | undefined): HttpClientConfig;
  tls(key: string, given: HttpRaw["tls_config"]): TlsConfig;
}

/** What a channel may use when it is opened. */
export interface ChannelContext {
  readonly receiver: string;
  readonly hidden: SecretRedactor;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Compiles a template, rendered later. @throws TemplateError */
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
  /** For example `email`; its entries are under `email_configs`. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** The fields that a form shows, without `http_config` and the like. */
  readonly options: Schema;
  /** A sample entry in YAML. */
  readonly example: string;
  /** The send rate that the service tolerates. */
  readonly rate: Rate;
  /** True if the service keeps an incident open until the resolved notification. */
  readonly staysOpen?: true;
  /** Fills in the global section's defaults; errors are reported through `setting`. */
  prepare(options: v.InferOutput<Schema>, setting: EntryContext): Ready | undefined;
  open(ready: Ready, context: ChannelContext): Promise<OpenChannel>;
}

/** Opens an entry that was read. */
export type Opener = (context: ChannelContext) => Promise<OpenChannel>;

export interface Channel {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly options: v.GenericSchema;
  readonly example: string;
  readonly rate: Rate;
  readonly staysOpen: boolean;
  /** `entry` has been validated against `options`. */
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
