/**
 * Secrets from the environment: `$EMAIL_PASS` as the whole of a secret, `${NAME}` anywhere in one. Only secrets are looked
 * at, so that the rest of the file means what it means to Alertmanager.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

export type Expanded =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly why: string };

const whole = /^\$([A-Z_][A-Z0-9_]*)$/;
const braced = /\$(\$)?\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** `$$NAME` and `$${NAME}` stand for a secret that begins with a dollar. */
export function expandSecret(text: string, env: Environment): Expanded {
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

/** Whether a text that is no secret looks as if it was to come from the environment. */
export const looksLikeVariable = (text: string): boolean =>
  whole.test(text) || /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text);
