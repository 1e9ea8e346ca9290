/**
 * Redacts the secrets in use: every error, log line and response text passes through `hide`. Holds the secrets and must never be
 * printed itself.
 */
import { inspect } from "node:util";

/** Shorter secrets would redact ordinary words; no service issues any that short. */
const shortest = 4;

export class SecretRedactor {
  readonly #texts = new Set<string>();

  /** Also adds the encoded forms: %-escaped, JSON and base64. */
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

  /** Adds a URL that is a secret: the whole text, and the part after the host, which contains the token. */
  addUrl(url: string): void {
    this.add(url);
    try {
      const { pathname, search, searchParams, password } = new URL(url);
      for (const part of [pathname, `${pathname}${search}`, password]) this.add(decoded(part));
      // A long path segment is a token; a short one is a word and is only redacted as part of the path.
      for (const part of [...pathname.split("/"), ...searchParams.values()])
        if (part.length >= 16) this.add(decoded(part));
    } catch {
      // A text that is not a URL has no parts.
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
