/**
 * Variables of the environment in an alertmanager.yml. A secret may be `$EMAIL_PASS` as a whole, or hold `${NAME}` anywhere.
 * An address (host, URL, mailbox, user name) may also hold `$NAME` as one of its parts: `$SMTP_HOST:$SMTP_PORT`. All other
 * text means what it means to Alertmanager.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

export type ExpansionResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly why: string };

const whole = /^\$([A-Z_][A-Z0-9_]*)$/;
const braced = /\$(\$)?\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** `$$NAME` and `$${NAME}` stand for a secret that begins with a dollar. */
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

/** A variable that is set to nothing is a value here: a mail server without a login has an empty user name. */
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

/** Whether a text that is no secret looks as if it was to come from the environment. */
export const looksLikeVariable = (text: string): boolean =>
  whole.test(text) || /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text);
