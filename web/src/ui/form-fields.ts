/** Turns a JSON Schema into the fields of a form, and the typed text into the value. Pure. */

export interface Schema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly writeOnly?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

export type SchemaFieldKind =
  | "text"
  | "secret"
  | "number"
  | "switch"
  | "choice"
  | "lines"
  | "object"
  | "json";

export interface SchemaField {
  readonly name: string;
  readonly label: string;
  readonly kind: SchemaFieldKind;
  readonly schema: Schema;
  readonly required: boolean;
  readonly choices: readonly string[];
  readonly fields: readonly SchemaField[];
}

export type FormValue = Readonly<Record<string, unknown>>;

const SECRET = /(?:^|_)(?:password|secret|token|api_?key|authorization|routing_?key)$/i;

export function fieldsOf(schema: Schema): readonly SchemaField[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, one]) => one.const === undefined)
    .map(([name, one]) => fieldOf(name, one, schema.required?.includes(name) === true));
}

function fieldOf(name: string, given: Schema, required: boolean): SchemaField {
  const schema = simplest(given);
  const kind = kindOf(name, schema);
  return {
    name,
    label: schema.title ?? spoken(name),
    kind,
    schema: { ...schema, ...noted(given) },
    required,
    choices: kind === "choice" ? choicesOf(schema) : [],
    fields: kind === "object" ? fieldsOf(schema) : [],
  };
}

/** A union is shown as its first supported branch; a branch `null` only makes the field optional. */
function simplest(schema: Schema): Schema {
  const branches = (schema.anyOf ?? schema.oneOf ?? []).filter(({ type }) => type !== "null");
  if (branches.length === 0) return schema;
  if (branches.every((one) => one.const !== undefined || one.enum !== undefined))
    return { enum: branches.flatMap((one) => one.enum ?? [one.const]) };
  return simplest(branches[0] ?? {});
}

function noted({ title, description, default: preset, examples }: Schema): Schema {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(preset === undefined ? {} : { default: preset }),
    ...(examples === undefined ? {} : { examples }),
  };
}

function kindOf(name: string, schema: Schema): SchemaFieldKind {
  const type = [schema.type ?? []].flat().find((one) => one !== "null");
  if (schema.enum !== undefined) return "choice";
  if (type === "boolean") return "switch";
  if (type === "number" || type === "integer") return "number";
  if (type === "array") return simplest(schema.items ?? {}).type === "string" ? "lines" : "json";
  if (type === "object") return schema.properties === undefined ? "json" : "object";
  if (type !== "string" && type !== undefined) return "json";
  return schema.writeOnly === true || schema.format === "password" || SECRET.test(name)
    ? "secret"
    : "text";
}

const choicesOf = ({ enum: words = [] }: Schema): readonly string[] => words.map(String);

/** `send_resolved` becomes "Send resolved", `webhookUrl` becomes "Webhook url". */
function spoken(name: string): string {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]+/g, " ")
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Formats a value for the field. */
export function formatFieldValue({ kind }: SchemaField, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (kind === "lines") return Array.isArray(value) ? value.map(String).join("\n") : "";
  return kind === "json" || typeof value === "object"
    ? JSON.stringify(value, null, 2)
    : `${value as string | number}`;
}

export type ParsedField = { readonly value: unknown } | { readonly wrong: string };

/** Parses the typed text; an empty field is omitted. */
export function parseField(field: SchemaField, text: string): ParsedField {
  const { kind, required, schema } = field;
  const trimmed = kind === "secret" ? text : text.trim();
  if (trimmed === "")
    return required ? { wrong: `${field.label} is required.` } : { value: undefined };
  if (kind === "number") return number(trimmed, field);
  if (kind === "choice") return { value: schema.enum?.find((one) => String(one) === trimmed) };
  if (kind === "lines")
    return {
      value: trimmed
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== ""),
    };
  if (kind === "json") return json(trimmed, field);
  if (schema.format === "uri" && !URL.canParse(trimmed))
    return { wrong: `${field.label} must be an address such as https://example.org/hook.` };
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(trimmed))
    return { wrong: `${field.label} has an invalid format.` };
  return { value: trimmed };
}

function number(text: string, { label, schema }: SchemaField): ParsedField {
  const value = Number(text);
  if (Number.isNaN(value)) return { wrong: `${label} must be a number.` };
  if (schema.type === "integer" && !Number.isInteger(value))
    return { wrong: `${label} must be a whole number.` };
  if (schema.minimum !== undefined && value < schema.minimum)
    return { wrong: `${label} must be at least ${schema.minimum}.` };
  if (schema.maximum !== undefined && value > schema.maximum)
    return { wrong: `${label} must be at most ${schema.maximum}.` };
  return { value };
}

function json(text: string, { label }: SchemaField): ParsedField {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { wrong: `${label} must be JSON.` };
  }
}
