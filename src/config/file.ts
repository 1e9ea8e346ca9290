/** Reads a YAML file and checks it against a schema. Every mistake is one sentence with its line and column. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type * as v from "valibot";
import type { Document, LineCounter } from "yaml";
import { GpulseError, formatError, systemCode } from "../base/error.ts";
import { checkValue, type Problem } from "./check.ts";
import { fillSecrets } from "./secrets.ts";

export interface FileProblem {
  readonly code: "CONFIG_UNKNOWN_KEY" | "CONFIG_WRONG_VALUE" | "CONFIG_SYNTAX";
  readonly sentence: string;
}

export type FileCheckResult<Output> =
  | { readonly ok: true; readonly value: Output }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

const maxBytes = 1024 * 1024;

/** Loads the YAML parser only if a file is given: an agent configured by flags alone does not pay for it. */
export async function checkFile<Schema extends v.GenericSchema>(
  path: string,
  schema: Schema,
  env: Readonly<Record<string, string | undefined>> | undefined,
): Promise<FileCheckResult<v.InferOutput<Schema>>> {
  return checkText(readText(path), path, schema, env);
}

/** Without `env` the text is literal: other tools give `$` their own meaning. */
export async function checkText<Schema extends v.GenericSchema>(
  text: string,
  path: string,
  schema: Schema,
  env: Readonly<Record<string, string | undefined>> | undefined,
): Promise<FileCheckResult<v.InferOutput<Schema>>> {
  try {
    return await checkWhole(text, path, schema, env);
  } catch (thrown) {
    // The parser and the check recurse as deep as the document is nested.
    if (!(thrown instanceof RangeError)) throw thrown;
    const sentence = `${path}:1:1: not valid YAML: nested too deeply.`;
    return { ok: false, problems: [{ code: "CONFIG_SYNTAX", sentence }] };
  }
}

async function checkWhole<Schema extends v.GenericSchema>(
  text: string,
  path: string,
  schema: Schema,
  env: Readonly<Record<string, string | undefined>> | undefined,
): Promise<FileCheckResult<v.InferOutput<Schema>>> {
  const { LineCounter, parseDocument } = await import("./yaml.ts");
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const broken = document.errors.map((error): FileProblem => {
    const { line, col } = lines.linePos(error.pos[0]);
    return {
      code: "CONFIG_SYNTAX",
      sentence: `${path}:${line}:${col}: not valid YAML: ${formatYamlError(error.message)}`,
    };
  });
  if (broken.length > 0) return { ok: false, problems: broken };
  const refuse = (code: FileProblem["code"], sentence: string) =>
    ({ ok: false, problems: [{ code, sentence: `${path}:1:1: ${sentence}` }] }) as const;
  let parsed: unknown;
  try {
    // Aliases of aliases can expand a small file to gigabytes; a gpulse file needs only a few.
    parsed = document.toJS({ maxAliasCount: 50 }) ?? {};
  } catch (thrown) {
    return refuse("CONFIG_SYNTAX", `not valid YAML: ${formatYamlError(formatError(thrown))}`);
  }
  if (typeof parsed !== "object" || Array.isArray(parsed))
    return refuse("CONFIG_WRONG_VALUE", "must be a mapping of keys.");
  const { value, secretPaths } =
    env === undefined
      ? { value: parsed, secretPaths: new Set<string>() }
      : fillSecrets(parsed, { env, folder: dirname(resolve(path)) });
  const checked = checkValue(schema, value);
  if (checked.ok) return checked;
  return {
    ok: false,
    problems: checked.problems.map((problem) =>
      located(problem, path, document, lines, secretPaths),
    ),
  };
}

/** Returns the checked value, or throws an error with the first problem and the number of further ones. */
export async function loadFile<Schema extends v.GenericSchema>(
  path: string,
  schema: Schema,
  env: Readonly<Record<string, string | undefined>>,
): Promise<v.InferOutput<Schema>> {
  const checked = await checkFile(path, schema, env);
  if (checked.ok) return checked.value;
  const [first, ...more] = checked.problems;
  const rest = more.length === 0 ? "" : ` (${more.length} more: run gpulse config check ${path})`;
  throw new GpulseError(
    first?.code ?? "CONFIG_WRONG_VALUE",
    `${first?.sentence ?? "not understood."}${rest}`,
  );
}

function readText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (thrown) {
    const code = systemCode(thrown);
    const why =
      code === "ENOENT"
        ? "does not exist"
        : code === "EISDIR"
          ? "is a folder"
          : code === "EACCES"
            ? "may not be read by this user"
            : `cannot be read (${code ?? "error"})`;
    throw new GpulseError("CONFIG_UNREADABLE", `The configuration file ${path} ${why}.`, {
      cause: thrown,
    });
  }
  if (bytes.length > maxBytes)
    throw new GpulseError(
      "CONFIG_UNREADABLE",
      `The configuration file ${path} is larger than 1 MiB.`,
    );
  return bytes.toString("utf8");
}

function located(
  problem: Problem,
  path: string,
  document: Document,
  lines: LineCounter,
  secretPaths: ReadonlySet<string>,
): FileProblem {
  const sentence = secretPaths.has(problem.path.join("."))
    ? problem.sentence.replace(/, not .*\.$/s, ".")
    : problem.sentence;
  const { line, col } = lines.linePos(offsetOf(document, problem) ?? 0);
  const code = problem.kind === "unknown-key" ? "CONFIG_UNKNOWN_KEY" : "CONFIG_WRONG_VALUE";
  return { code, sentence: `${path}:${line}:${col}: ${sentence}` };
}

interface NodeWithRange {
  readonly range?: readonly [number, number, number] | null;
}
interface Pairs {
  readonly items?: readonly {
    readonly key?: (NodeWithRange & { readonly value?: unknown }) | null;
  }[];
}

/** The position of the key, else of its value in a list, else of the nearest enclosing node. */
function offsetOf(document: Document, { path }: Problem): number | undefined {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = document.getIn(path.slice(0, depth - 1), true) as Pairs | undefined;
    const pair = parent?.items?.find(
      (item) => String(item?.key?.value) === String(path[depth - 1]),
    );
    const node =
      pair?.key ?? (document.getIn(path.slice(0, depth), true) as NodeWithRange | undefined);
    const offset = node?.range?.[0];
    if (offset !== undefined) return offset;
  }
  return undefined;
}

/** Leaves out the alias name: YAML parses a password that begins with `*` as an alias. */
export const formatYamlError = (text: string): string =>
  (text.split("\n", 1)[0] ?? "").replace(
    /^(Unresolved alias[^:]*):.*$/,
    "$1; quote text that begins with *",
  );
