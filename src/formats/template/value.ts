/** Template values with Go's types: an int is a bigint, a float64 a number, nil is null. */
import { TemplateError } from "./lex.ts";

export type TemplateValue =
  | null
  | string
  | boolean
  | bigint
  | number
  | readonly TemplateValue[]
  | GoMap
  | GoObject
  | SafeText;

/** A map with string keys; a missing key returns the zero value, as with `missingkey=zero`. */
export class GoMap {
  readonly entries: ReadonlyMap<string, TemplateValue>;
  readonly zero: TemplateValue;
  readonly methods: Readonly<Record<string, Method>>;

  constructor(
    entries: ReadonlyMap<string, TemplateValue>,
    zero: TemplateValue = null,
    methods: Readonly<Record<string, Method>> = {},
  ) {
    this.entries = entries;
    this.zero = zero;
    this.methods = methods;
  }
}

export type Method = (args: readonly TemplateValue[]) => TemplateValue;

/** A struct or a named type: fields, methods, and its printed form. */
export interface GoObject {
  readonly goType: string;
  readonly fields?: Readonly<Record<string, TemplateValue>>;
  readonly methods?: Readonly<Record<string, Method>>;
  print(): string;
  truth?(): boolean;
  /** For a list type with its own methods, such as Alertmanager's Alerts. */
  readonly items?: readonly TemplateValue[];
}

/** Text that an HTML template prints without escaping. */
export class SafeText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const isList = (value: TemplateValue): value is readonly TemplateValue[] =>
  Array.isArray(value);

export function isObject(value: TemplateValue): value is GoObject {
  return (
    typeof value === "object" &&
    value !== null &&
    !isList(value) &&
    !(value instanceof GoMap) &&
    !(value instanceof SafeText)
  );
}

export function isTrue(value: TemplateValue): boolean {
  if (value === null) return false;
  if (typeof value === "string") return value !== "";
  if (typeof value === "boolean") return value;
  if (typeof value === "bigint") return value !== 0n;
  if (typeof value === "number") return value !== 0;
  if (isList(value)) return value.length > 0;
  if (value instanceof GoMap) return value.entries.size > 0;
  if (value instanceof SafeText) return value.text !== "";
  return value.truth?.() ?? (value.items === undefined || value.items.length > 0);
}

export function printValue(value: TemplateValue): string {
  if (value === null) return "<no value>";
  if (typeof value === "string") return value;
  if (typeof value === "number") return floatText(value);
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (isList(value)) return `[${value.map(inner).join(" ")}]`;
  if (value instanceof SafeText) return value.text;
  if (value instanceof GoMap)
    return `map[${[...value.entries]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, entry]) => `${key}:${inner(entry)}`)
      .join(" ")}]`;
  return value.print();
}

const inner = (value: TemplateValue): string => (value === null ? "<nil>" : printValue(value));

/** `%v` of a float64: the shortest digits, with an exponent below 1e-4 and from 1e6 on. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const text = value.toExponential();
  const power = Number(text.slice(text.indexOf("e") + 1));
  return power < -4 || power >= 6 ? exponentText(text) : String(value);
}

/** Go's exponents have at least two digits. */
export function exponentText(text: string): string {
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

type Basic = "bool" | "int" | "float" | "string";

function basicKind(value: TemplateValue): Basic | undefined {
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float";
  if (typeof value === "string" || value instanceof SafeText) return "string";
  return undefined;
}

const plain = (value: TemplateValue): unknown => (value instanceof SafeText ? value.text : value);

export function equal(left: TemplateValue, right: TemplateValue): boolean {
  const [one, other] = [basicKind(left), basicKind(right)];
  if (left === null || right === null) return left === right;
  if (one === undefined || other === undefined)
    throw new TemplateError("error calling eq: incompatible types for comparison");
  if (one !== other) throw new TemplateError("error calling eq: incompatible types for comparison");
  return plain(left) === plain(right);
}

/** -1 if less, 0 if equal, 1 if greater; NaN for an incomparable NaN. */
export function order(left: TemplateValue, right: TemplateValue, name: string): number {
  const [one, other] = [basicKind(left), basicKind(right)];
  if (one === undefined || one === "bool" || other === undefined || other === "bool")
    throw new TemplateError(`error calling ${name}: invalid type for comparison`);
  if (one !== other)
    throw new TemplateError(`error calling ${name}: incompatible types for comparison`);
  const [a, b] = [plain(left) as string, plain(right) as string];
  return a < b ? -1 : a > b ? 1 : a === b ? 0 : Number.NaN;
}

export function typeName(value: TemplateValue): string {
  if (value === null) return "<nil>";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float64";
  if (isList(value)) return "[]interface {}";
  if (value instanceof GoMap) return "map[string]string";
  if (value instanceof SafeText) return "template.HTML";
  return value.goType;
}
