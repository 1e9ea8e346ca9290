/**
 * Secrets in the URLs of pipes: they come from the environment or a file, are never stored, and are redacted wherever a URL or
 * a child's output is shown.
 */
import { readFileSync } from "node:fs";
import { SecretRedactor } from "../../alerting/channels/secret-redactor.ts";

const keys = /^(?:.*(?:password|passwd|token|secret|credentials|api[-_]?key)|headers?)$/i;
const fromElsewhere = /^(?:\$\{[^}]+\}|file:.+)$/;
const userInfo = /\/\/([^/?#@:]*):([^/?#]*)@/;
const parameter = /([?&])([^=&?]+)=([^&]*)/g;

/** Describes a plain-text secret in the URL, for an error message: `password`, or `the password before the @`. */
export function findPlainSecret(url: string): string | undefined {
  const [, , password] = userInfo.exec(url) ?? [];
  if (password !== undefined && !fromElsewhere.test(decoded(password)))
    return "the password before the @";
  for (const [, , key = "", value = ""] of url.matchAll(parameter))
    if (keys.test(decoded(key)) && value !== "" && !fromElsewhere.test(decoded(value)))
      return decoded(key);
  return undefined;
}

/** True if any part of the URL, however often it is percent-encoded, refers to a variable or a file of the hub. */
export function refersToSecret(url: string): boolean {
  for (let [text, next] = ["", url]; text !== next;) {
    [text, next] = [next, decoded(next)];
    if (/\$\{|(?:^|[^\p{L}\p{N}])file:/iu.test(text)) return true;
  }
  return false;
}

/** Keeps references to a secret's source, and redacts secrets. */
export function redactUrl(url: string): string {
  const hide = (value: string): string =>
    value === "" || fromElsewhere.test(decoded(value)) ? value : "<secret>";
  return url
    .replace(userInfo, (_whole, user: string, password: string) => `//${user}:${hide(password)}@`)
    .replace(parameter, (whole, sign: string, key: string, value: string) =>
      keys.test(decoded(key)) ? `${sign}${key}=${hide(value)}` : whole,
    );
}

/** Returns all secrets that these URLs refer to. */
export function collectSecrets(
  urls: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): SecretRedactor {
  const hidden = new SecretRedactor();
  for (const url of urls) {
    for (const [, name = ""] of decoded(url).matchAll(/\$\{([^}]+)\}/g))
      hidden.add(env[name] ?? "");
    const values = Array.from(url.matchAll(parameter), ([, , key = "", value = ""]) =>
      keys.test(decoded(key)) ? decoded(value) : "",
    );
    for (const value of [...values, decoded(userInfo.exec(url)?.[2] ?? "")])
      hidden.add(value.startsWith("file:") ? contentOf(value.slice("file:".length)) : value);
  }
  return hidden;
}

/** The child process reports an unreadable file itself. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8").slice(0, 65_536);
  } catch {
    return "";
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
