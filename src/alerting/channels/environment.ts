/**
 * Environment variables in an alertmanager.yml. A secret may be `$EMAIL_PASS` as a whole, or contain `${NAME}` anywhere. An
 * address (host, URL, mailbox, user name) may also contain `$NAME` as one of its parts: `$SMTP_HOST:$SMTP_PORT`. All other text
 * has Alertmanager's meaning.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

export type ExpansionResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly why: string };

const whole = /^\$([A-Z_][A-Z0-9_]*)$/;
const braced = /\$(\$)?\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** `$$NAME` and `$${NAME}` escape a secret that begins with a dollar sign. */
export function expandSecret(text: string, env: Environment): ExpansionResult {
  const missing: string[] = [];
  const valueOf = (name: string): string => {
    const value = env[name] ?? "";
    if (value === "") missing.push(name);
    return value;
  };
  const name = whole.exec(text)?.[1];
  const expanded =
    name !== undefined
      ? valueOf(name)
      : /^\$\$[A-Z_][A-Z0-9_]*$/.test(text)
        ? text.slice(1)
        : text.replace(braced, (found, escaped: string | undefined, inner: string) =>
            escaped === undefined ? valueOf(inner) : found.slice(1),
          );
  if (missing[0] === undefined) return { ok: true, text: expanded };
  const [variable] = missing;
  return {
    ok: false,
    why: `the variable ${variable} is ${env[variable] === undefined ? "not set" : "empty"}: set it before starting (a secret that begins with a dollar is written with two).`,
  };
}

const delimiter = "[:/@,;<>\\s]";
const inAddress = new RegExp(
  `\\$(\\$)?\\{([A-Za-z_]\\w*)\\}|(?<=^|${delimiter})\\$(\\$)?([A-Z_][A-Z0-9_]*)(?=$|${delimiter})`,
  "g",
);

/** Here an empty variable is a value: a mail server without a login has an empty user name. */
export function expandAddress(text: string, env: Environment): ExpansionResult {
  const missing: string[] = [];
  const expanded = text.replace(
    inAddress,
    (found, bracesEscaped?: string, inBraces?: string, escaped?: string, bare?: string) => {
      if (bracesEscaped !== undefined || escaped !== undefined) return found.slice(1);
      const name = inBraces ?? bare ?? "";
      const value = env[name];
      if (value === undefined) missing.push(name);
      return value ?? "";
    },
  );
  if (missing.length === 0) return { ok: true, text: expanded };
  return {
    ok: false,
    why: `the variable ${missing.join(", ")} is not set: set it before starting.`,
  };
}

/** True if a text that is not a secret looks like an environment variable. */
export const looksLikeVariable = (text: string): boolean =>
  whole.test(text) || /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text);
