/** Takes what we sent as credentials out of what another side says, before a word of it is logged: some repeat what they heard. */

/** Shorter ones are words, not secrets. */
const shortest = 4;

/** `headers` are those of the client's own configuration; of the usual ones nothing is hidden. */
export function redactCredentials(text: string, headers: Readonly<Record<string, string>>): string {
  let shown = text;
  const secrets = Object.values(headers).flatMap(formsOf);
  for (const secret of secrets.sort((left, right) => right.length - left.length))
    if (secret.length >= shortest) shown = shown.replaceAll(secret, "<secret>");
  return shown;
}

/** The value, what stands behind its scheme, and the password of a pair. */
function formsOf(value: string): string[] {
  const [, scheme = "", rest = ""] = /^(\S+) +(.*)$/s.exec(value) ?? [];
  if (rest === "") return [value];
  if (scheme.toLowerCase() !== "basic") return [value, rest];
  const pair = Buffer.from(rest, "base64").toString("utf8");
  return [value, rest, pair, pair.slice(pair.indexOf(":") + 1)];
}
