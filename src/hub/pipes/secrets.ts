/**
 * Secrets in the URLs of pipes: they come from the environment or a file, are never kept, and are hidden wherever a URL or
 * what a child said is shown.
 */
import { readFileSync } from "node:fs";
import { SecretRedactor } from "../../alerting/channels/secret-redactor.ts";

const keys = /^(?:.*(?:password|passwd|token|secret|credentials|api[-_]?key)|headers?)$/i;
const fromElsewhere = /^(?:\$\{[^}]+\}|file:.+)$/;
const userInfo = /\/\/([^/?#@:]*):([^/?#]*)@/;
const parameter = /([?&])([^=&?]+)=([^&]*)/g;

/** What holds a secret in plain text, for a sentence: `password`, or `the password before the @`. */
export function findPlainSecret(url: string): string | undefined {
  const [, , password] = userInfo.exec(url) ?? [];
  if (password !== undefined && !fromElsewhere.test(decoded(password)))
    return "the password before the @";
  for (const [, , key = "", value = ""] of url.matchAll(parameter))
    if (keys.test(decoded(key)) && value !== "" && !fromElsewhere.test(decoded(value)))
      return decoded(key);
  return undefined;
}

/** True where any part of the URL, however often it is percent-encoded, names a variable or a file of the hub. */
export function refersToSecret(url: string): boolean {
  for (let [text, next] = ["", url]; text !== next;) {
    [text, next] = [next, decoded(next)];
    if (/\$\{|(?:^|[^\p{L}\p{N}])file:/iu.test(text)) return true;
  }
  return false;
}

/** Where a secret comes from may be seen, the secret not. */
export function redactUrl(url: string): string {
  const hide = (value: string): string =>
    value === "" || fromElsewhere.test(decoded(value)) ? value : "<secret>";
  return url
    .replace(userInfo, (_whole, user: string, password: string) => `//${user}:${hide(password)}@`)
    .replace(parameter, (whole, sign: string, key: string, value: string) =>
      keys.test(decoded(key)) ? `${sign}${key}=${hide(value)}` : whole,
    );
}

/** Everything secret that these URLs lead to. */
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

/** The child says itself what is wrong with a file that cannot be read. */
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
