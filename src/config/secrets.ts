/** Resolves secrets in a parsed file: `${VARIABLE}` from the environment and `file:PATH` from a file. Values are never printed. */
import { readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { GpulseError, systemCode } from "../base/error.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export interface SecretSources {
  readonly env: Env;
  /** Base of relative `file:` paths: the folder of the configuration file. */
  readonly folder: string;
}

const secretFileMaxBytes = 64 * 1024;

/**
 * Replaces references in all strings of the value, recursively; returns the paths of the strings that came from outside. `$${` is a
 * literal `${`.
 */
export function fillSecrets(
  value: unknown,
  sources: SecretSources,
): { value: unknown; secretPaths: Set<string> } {
  const secretPaths = new Set<string>();
  const walk = (node: unknown, path: readonly string[]): unknown => {
    if (typeof node === "string") {
      const filled = fillText(node, path.join("."), sources);
      if (filled !== node) secretPaths.add(path.join("."));
      return filled;
    }
    if (Array.isArray(node)) return node.map((item, index) => walk(item, [...path, String(index)]));
    if (typeof node === "object" && node !== null) {
      return Object.fromEntries(
        Object.entries(node).map(([key, item]) => [key, walk(item, [...path, key])]),
      );
    }
    return node;
  };
  return { value: walk(value, []), secretPaths };
}

function fillText(text: string, path: string, { env, folder }: SecretSources): string {
  if (text.startsWith("file:")) return readSecretFile(text.slice("file:".length), path, folder);
  return text.replace(/\$(\$)?\{([^}]*)\}/g, (whole, escaped: string | undefined, name: string) => {
    if (escaped !== undefined) return whole.slice(1);
    // `${1}` belongs to a relabeling rule: no variable name is a number.
    if (/^\d+$/.test(name)) return whole;
    const value = env[name];
    if (value !== undefined && value !== "") return value;
    const state = value === undefined ? "not set" : "empty";
    throw new GpulseError(
      "CONFIG_MISSING_SECRET",
      `"${path}" needs the variable ${name}, which is ${state}: set it before starting.`,
    );
  });
}

function readSecretFile(given: string, path: string, folder: string): string {
  const file = isAbsolute(given) ? given : resolve(folder, given);
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (thrown) {
    const why =
      systemCode(thrown) === "ENOENT"
        ? "does not exist"
        : `cannot be read (${systemCode(thrown) ?? "error"})`;
    throw new GpulseError(
      "CONFIG_MISSING_SECRET",
      `"${path}" is read from the file ${file}, which ${why}.`,
      { cause: thrown },
    );
  }
  if (content.length > secretFileMaxBytes) {
    throw new GpulseError(
      "CONFIG_MISSING_SECRET",
      `"${path}" is read from the file ${file}, which is too large for a secret.`,
    );
  }
  const value = content.trimEnd();
  if (value === "")
    throw new GpulseError(
      "CONFIG_MISSING_SECRET",
      `"${path}" is read from the file ${file}, which is empty.`,
    );
  return value;
}
