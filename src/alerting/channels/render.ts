/** The templates of a channel's entry, compiled when it is opened and rendered for each notification. */
import { createHash } from "node:crypto";
import type { ChannelContext, ChannelMessage, Render } from "./channel.ts";
import type { SecretText } from "./secret-text.ts";

export type Renders<Name extends string = string> = Readonly<Record<Name, Render>>;

export function compileAll<Name extends string>(
  sources: Readonly<Record<Name, string | undefined>>,
  context: ChannelContext,
): Renders<Name> {
  return Object.fromEntries(
    Object.entries<string | undefined>(sources).map(([name, source]) => [
      name,
      context.text(source ?? ""),
    ]),
  ) as Renders<Name>;
}

export const printAll = <Name extends string>(
  renders: Renders<Name>,
  message: ChannelMessage,
): Record<Name, string> =>
  Object.fromEntries(
    Object.entries<Render>(renders).map(([name, render]) => [name, render(message)]),
  ) as Record<Name, string>;

export const withoutEmpty = (
  texts: Readonly<Record<string, string | undefined>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) =>
      text === undefined || text === "" ? [] : [[name, text]],
    ),
  );

/** Reads a key that may be a template over the alerts' labels: `{{ .CommonLabels.team_key }}`. */
export async function readSecret(
  secret: SecretText,
  message: ChannelMessage,
  context: ChannelContext,
): Promise<string> {
  const text = await secret.read();
  if (!text.includes("{{")) return text;
  const printed = context.text(text)(message).trim();
  context.hidden.add(printed);
  return printed;
}

/** Alertmanager's key for incidents: one incident per group of alerts. */
export const groupKeyHash = ({ notification }: ChannelMessage): string =>
  createHash("sha256").update(notification.groupKey).digest("hex");

/** Appends a path to an API's URL, whether or not the URL ends with a slash. */
export function urlBelow(base: string, below: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${below}`;
  return url.href;
}

/** Splits a comma-separated list. */
export const splitList = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
