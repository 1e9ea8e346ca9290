/** A secret that hides itself: printing it, logging it or converting it to JSON gives `<secret>`. */
import { inspect } from "node:util";

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Call this only where the secret is used. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "<secret>";
  }

  toJSON(): string {
    return "<secret>";
  }

  [inspect.custom](): string {
    return "<secret>";
  }
}

/** Shorter values are words, not secrets. */
const shortest = 4;

/** `headers`: only those of the client's own configuration; standard headers are not redacted. */
export function redactCredentials(text: string, headers: Readonly<Record<string, string>>): string {
  let shown = text;
  const secrets = Object.values(headers).flatMap(formsOf);
  for (const secret of secrets.sort((left, right) => right.length - left.length))
    if (secret.length >= shortest) shown = shown.replaceAll(secret, "<secret>");
  return shown;
}

/** The value, its part after the scheme, and the password of a Basic pair. */
function formsOf(value: string): string[] {
  const [, scheme = "", rest = ""] = /^(\S+) +(.*)$/s.exec(value) ?? [];
  if (rest === "") return [value];
  if (scheme.toLowerCase() !== "basic") return [value, rest];
  const pair = Buffer.from(rest, "base64").toString("utf8");
  return [value, rest, pair, pair.slice(pair.indexOf(":") + 1)];
}
