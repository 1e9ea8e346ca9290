// Parses a Terraform module and checks it as a provider would. Providers cannot be used without a network, so arguments.json
// lists the arguments and attributes of every type in use: "name?" is optional.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { repository } from "../../../engines/program.ts";

// Its own types include the browser's, which would then apply to every file here.
const { getReferencesInExpression, parse } = createRequire(import.meta.url)("@cdktf/hcl2json") as {
  parse: (file: string, text: string) => Promise<ParsedModule>;
  getReferencesInExpression: (file: string, text: string) => Promise<readonly { value: string }[]>;
};

export type Block = Readonly<Record<string, unknown>>;
type Named = Readonly<Record<string, readonly Block[]>>;

export interface ParsedModule {
  readonly terraform?: readonly Block[];
  readonly provider?: Named;
  readonly variable?: Named;
  readonly output?: Named;
  readonly locals?: readonly Block[];
  readonly resource?: Readonly<Record<string, Named>>;
  readonly data?: Readonly<Record<string, Named>>;
}

type Arguments = { readonly [name: string]: true | Arguments };
interface BlockSchema {
  readonly arguments: Arguments;
  readonly attributes: readonly string[];
}
interface ProviderSchemas {
  readonly providers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, BlockSchema>>;
  readonly data: Readonly<Record<string, BlockSchema>>;
}

export const terraformFolder = path.join(repository, "deploy/terraform");
export const moduleNames = ["aws-ec2", "aws-serverless", "gcp"] as const;
export const provided = JSON.parse(
  readFileSync(new URL("./arguments.json", import.meta.url), "utf8"),
) as ProviderSchemas;

/** A variable's type looks like a reference. */
const TYPES = ["string", "number", "bool"];
const META = new Set(["count", "for_each", "depends_on", "lifecycle", "provider", "dynamic"]);

/** All files of a folder as one text, as Terraform reads them. */
export function moduleText(name: string): string {
  const folder = path.join(terraformFolder, name);
  return readdirSync(folder)
    .filter((file) => file.endsWith(".tf"))
    .map((file) => readFileSync(path.join(folder, file), "utf8"))
    .join("\n");
}

export async function parseModule(text: string): Promise<ParsedModule> {
  return parse("main.tf", text);
}

const isBlock = (value: unknown): value is Block =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function blocksIn(value: unknown): readonly Block[] {
  if (Array.isArray(value)) return (value as unknown[]).filter(isBlock);
  return isBlock(value) ? [value] : [];
}

/** Nested blocks of one name, including dynamic ones. */
export function nested(block: Block, name: string): readonly Block[] {
  const [dynamic] = blocksIn(block["dynamic"]);
  const made = blocksIn(dynamic?.[name]).flatMap(({ content }) => blocksIn(content));
  return [...blocksIn(block[name]), ...made];
}

export interface DeclaredBlock {
  readonly kind: "resource" | "data";
  readonly type: string;
  readonly name: string;
  readonly block: Block;
}

export function declaredBlocks(module: ParsedModule): readonly DeclaredBlock[] {
  return (["resource", "data"] as const).flatMap((kind) =>
    Object.entries(module[kind] ?? {}).flatMap(([type, named]) =>
      Object.entries(named).flatMap(([name, blocks]) =>
        blocks.map((block) => ({ kind, type, name, block })),
      ),
    ),
  );
}

export const ofType = (module: ParsedModule, type: string): readonly DeclaredBlock[] =>
  declaredBlocks(module).filter((one) => one.type === type);

/** Arguments that a type does not have, and missing required ones. */
export function wrongArguments({ kind, type, name, block }: DeclaredBlock): readonly string[] {
  const described = provided[kind][type];
  if (described === undefined) return [`${type} is not in arguments.json`];
  return compare(block, described.arguments, `${type}.${name}`);
}

function compare(block: Block, takes: Arguments, where: string): readonly string[] {
  const [dynamic = {}] = blocksIn(block["dynamic"]);
  const given = [...Object.keys(block), ...Object.keys(dynamic)].filter((key) => !META.has(key));
  const unknown = given.filter((key) => !(key in takes) && !(`${key}?` in takes));
  const missing = Object.keys(takes).filter((key) => !key.endsWith("?") && !given.includes(key));
  const inner = given.flatMap((key) => {
    const deeper = takes[key] ?? takes[`${key}?`];
    if (deeper === undefined || deeper === true) return [];
    return nested(block, key).flatMap((one) => compare(one, deeper, `${where}.${key}`));
  });
  return [
    ...unknown.map((key) => `${where} takes no ${key}`),
    ...missing.map((key) => `${where} needs ${key}`),
    ...inner,
  ];
}

/** Unresolved references: an undeclared name, or an attribute that its type does not have. */
export async function brokenReferences(module: ParsedModule): Promise<readonly string[]> {
  const locals = new Set((module.locals ?? []).flatMap((block) => Object.keys(block)));
  const objects = declaredBlocks(module);
  const broken: string[] = [];
  for (const { text, loops } of expressions(module, [])) {
    for (const { value } of await getReferencesInExpression("main.tf", text)) {
      const [root = "", ...rest] = value.split(".");
      if (["each", "path", "count", ...TYPES, ...loops].includes(root)) continue;
      if (root === "var" && (rest[0] ?? "") in (module.variable ?? {})) continue;
      if (root === "local" && locals.has(rest[0] ?? "")) continue;
      const complaint = objectComplaint(objects, value);
      if (complaint !== undefined) broken.push(`${value}: ${complaint}`);
    }
  }
  return broken;
}

function objectComplaint(objects: readonly DeclaredBlock[], reference: string): string | undefined {
  const parts = reference.split(".");
  const kind = parts[0] === "data" ? "data" : "resource";
  const [type = "", name = "", ...rest] = kind === "data" ? parts.slice(1) : parts;
  const found = objects.find((one) => one.kind === kind && one.type === type && one.name === name);
  if (found === undefined) return "is not declared";
  // A whole object, as in depends_on.
  if (rest.length === 0) return undefined;
  const attributes = provided[kind][type]?.attributes ?? [];
  const many = "count" in found.block || "for_each" in found.block;
  if (many && attributes.includes(rest[0] ?? "")) return "is one of several: it needs an index";
  const attribute = many ? rest[1] : rest[0];
  if (attribute === undefined || attributes.includes(attribute)) return undefined;
  return `${type} has no ${attribute}`;
}

/** The outermost ${…} of a text, each with its braces. */
function interpolations(text: string): readonly string[] {
  const found: string[] = [];
  for (let at = text.indexOf("${"); at >= 0; at = text.indexOf("${", at)) {
    const start = at;
    let depth = 1;
    for (at += 2; depth > 0 && at < text.length; at++) {
      if (text[at] === "{") depth++;
      if (text[at] === "}") depth--;
    }
    found.push(text.slice(start, at));
  }
  return found;
}

interface Expression {
  readonly text: string;
  /** Names bound by enclosing loops. */
  readonly loops: readonly string[];
}

function expressions(value: unknown, loops: readonly string[]): readonly Expression[] {
  if (typeof value === "string") {
    const bound = [...value.matchAll(/\bfor\s+(\w+)(?:\s*,\s*(\w+))?\s+in\b/g)];
    const names = bound.flatMap(([, first = "", second = ""]) => [first, second]);
    return interpolations(value).map((text) => ({ text, loops: [...loops, ...names] }));
  }
  if (Array.isArray(value)) return (value as unknown[]).flatMap((one) => expressions(one, loops));
  if (!isBlock(value)) return [];
  const [dynamic = {}] = blocksIn(value["dynamic"]);
  const inside = [...loops, ...Object.keys(dynamic)];
  // ignore_changes lists attributes of the resource itself.
  return Object.entries(value).flatMap(([key, one]) =>
    key === "ignore_changes" ? [] : expressions(one, inside),
  );
}
