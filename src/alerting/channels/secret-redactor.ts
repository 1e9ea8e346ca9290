/**
 * The secrets in use, so that no sentence leaves with one in it: whatever an error, a log line or another side's answer
 * says goes through `hide` first. Holds secrets; must never be printed itself.
 */
import { inspect } from "node:util";

/** Shorter ones would blank out ordinary words; no service hands out any that short. */
const shortest = 4;

export class SecretRedactor {
  readonly #texts = new Set<string>();

  /** Also in the shapes it travels in: %-escaped, and as base64. */
  add(secret: string): void {
    const text = secret.trim();
    if (text.length < shortest) return;
    this.#texts.add(text);
    this.#texts.add(encodeURIComponent(text));
    this.#texts.add(JSON.stringify(text).slice(1, -1));
    const base64 = Buffer.from(text).toString("base64");
    this.#texts.add(base64);
    this.#texts.add(base64.replace(/=+$/, ""));
  }

  /** A URL that is a secret: its whole text, and what stands behind the host, which is where the token is. */
  addUrl(url: string): void {
    this.add(url);
    try {
      const { pathname, search, searchParams, password } = new URL(url);
      for (const part of [pathname, `${pathname}${search}`, password]) this.add(decoded(part));
      // A long part is a token; a short one is a word, which only its slash distinguishes from others.
      for (const part of [...pathname.split("/"), ...searchParams.values()])
        if (part.length >= 16) this.add(decoded(part));
    } catch {
      // What is no URL has no parts.
    }
  }

  hide(text: string): string {
    let redacted = text;
    for (const secret of [...this.#texts].sort((left, right) => right.length - left.length))
      redacted = redacted.replaceAll(secret, "<secret>");
    return redacted;
  }

  toJSON(): string {
    return "<secret>";
  }

  [inspect.custom](): string {
    return "<secret>";
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
