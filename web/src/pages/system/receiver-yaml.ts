/** The lines of alertmanager.yml for a form. Default values are omitted. Pure. */
import type { FormValue, Schema } from "../../ui/form-fields.ts";

export function receiverYaml(
  receiver: string,
  key: string,
  value: FormValue,
  { properties = {} }: Schema,
): string {
  const set = Object.entries(value).filter(
    ([name, given]) =>
      given !== undefined && JSON.stringify(given) !== JSON.stringify(properties[name]?.default),
  );
  const lines = set.map(([name, given]) => `${name}: ${scalar(given)}`);
  const entry =
    lines.length === 0
      ? ["      - {}"]
      : lines.map((line, at) => `      ${at === 0 ? "- " : "  "}${line}`);
  return ["receivers:", `  - name: ${scalar(receiver)}`, `    ${key}:`, ...entry].join("\n");
}

const PLAIN = /^[A-Za-z_/.][\w/.@-]*(?: [\w/.@-]+)*$/;
const WORDS = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"]);

/** JSON is YAML too: every value that is not a plain word is quoted. */
function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return PLAIN.test(value) && !WORDS.has(value.toLowerCase()) ? value : JSON.stringify(value);
}
