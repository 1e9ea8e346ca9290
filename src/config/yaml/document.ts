/**
 * A YAML file as Prometheus's own parser reads it: the first document, every scalar as the original text (`1.10` stays `1.10`),
 * empty values left out, merge keys resolved. Maps each path to its line.
 */
import type { Document, LineCounter, Scalar } from "yaml";
import { formatYamlError } from "../file.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { ConfigPath } from "./diagnostics.ts";

export interface ConfigDocument {
  readonly value: unknown;
  /** `file:line:column` of a path, or of the nearest enclosing node. */
  readonly at: (path: ConfigPath) => string;
  /** The value at a path with typed numbers and booleans: for values passed on as JSON. */
  typed(path: ConfigPath): unknown;
  /** Set if further documents follow: Prometheus and Alertmanager ignore them, and so does gpulse. */
  readonly ignored: string | undefined;
}

/** @throws GpulseError if the text is not valid YAML. */
export async function readDocument(text: string, file: string): Promise<ConfigDocument> {
  try {
    return await readWhole(text, file);
  } catch (thrown) {
    // The parser and everything after it recurse as deep as the document is nested.
    if (!(thrown instanceof RangeError)) throw thrown;
    throw syntaxError(`${file}:1:1`, new Error("nested too deeply"));
  }
}

async function readWhole(text: string, file: string): Promise<ConfigDocument> {
  const yaml = await import("./parse.ts");
  const lines = new yaml.LineCounter();
  const documents = yaml.parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    schema: "failsafe",
    merge: true,
  });
  const [document = new yaml.Document(), second] = documents;
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line, col } = lines.linePos(broken.pos[0]);
    throw syntaxError(`${file}:${line}:${col}`, broken);
  }
  yaml.visit(document, { Scalar: (_, node) => emptied(node) });
  try {
    // Aliases of aliases can expand a small file to gigabytes.
    const value = withoutNulls(document.toJS({ maxAliasCount: 1_000 }));
    const { line } = lines.linePos(second?.range[0] ?? 0);
    return {
      value: value ?? {},
      at: (path) => place(document, lines, file, path),
      typed: (path) => {
        const [typed] = yaml.parseAllDocuments(text, { schema: "core", merge: true });
        return path.reduce<unknown>(
          (inner, part) => (inner as Readonly<Record<string, unknown>> | undefined)?.[part],
          typed?.toJS({ maxAliasCount: 1_000 }) as unknown,
        );
      },
      ignored:
        second === undefined || isEmpty(second)
          ? undefined
          : `${file}:${line}:1: only the first YAML document of a file is read; what follows "---" has no effect.`,
    };
  } catch (thrown) {
    throw syntaxError(`${file}:1:1`, thrown);
  }
}

const isEmpty = ({ errors, contents }: Document): boolean =>
  errors.length === 0 && String(contents?.toJSON() ?? "") === "";

function syntaxError(where: string, cause: unknown): GpulseError {
  return new GpulseError(
    "CONFIG_SYNTAX",
    `${where}: not valid YAML: ${formatYamlError(formatError(cause))}`,
    { cause },
  );
}

/** Treats a missing value, or one written as null, as null. */
function emptied(node: Scalar): void {
  if (node.type === "PLAIN" && /^(~|null|Null|NULL)?$/.test(String(node.value))) node.value = null;
}

/** Drops keys without a value; an empty list item is a mistake and stays. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      item === null ? undefined : withoutNulls(item),
    ]),
  );
}

interface YamlNodeRange {
  readonly range?: readonly [number, number, number] | null;
}
interface Pairs {
  readonly items?: readonly {
    readonly key?: (YamlNodeRange & { readonly value?: unknown }) | null;
  }[];
}

function place(document: Document, lines: LineCounter, file: string, path: ConfigPath): string {
  const { line, col } = lines.linePos(offsetOf(document, path));
  return `${file}:${line}:${col}`;
}

/** The position of the key, or of its value in a list. */
function offsetOf(document: Document, path: ConfigPath): number {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = document.getIn(path.slice(0, depth - 1), true) as Pairs | undefined;
    const key = parent?.items?.find((item) => item?.key?.value === path[depth - 1])?.key;
    const node = key ?? (document.getIn(path.slice(0, depth), true) as YamlNodeRange | undefined);
    const offset = node?.range?.[0];
    if (offset !== undefined) return offset;
  }
  return 0;
}
