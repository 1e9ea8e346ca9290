/**
 * Expands variables in a text as Go's os.Expand does: `$name`, `${name}`, `$$` for a dollar. A dollar before anything else stays;
 * braces without a name are removed.
 */
const reference = /\$(?:\{([^}]*)\}|(\{)|([*#$@!?0-9-])|([A-Za-z_]\w*))/g;

export function expandVariables(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  missing: (name: string) => void,
): string {
  return text.replace(
    reference,
    (_whole, braced?: string, open?: string, special?: string, plain?: string) => {
      if (open !== undefined) return "";
      const name = braced ?? special ?? plain ?? "";
      if (name === "" || name === "$") return name;
      const value = env[name] ?? "";
      if (value === "") missing(name);
      return value;
    },
  );
}
