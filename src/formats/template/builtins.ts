/** The built-in functions of Go templates. `and` and `or` are in exec.ts, since they do not always evaluate all arguments. */
import { TemplateError } from "./lex.ts";
import { sprintf } from "./printf.ts";
import {
  equal,
  GoMap,
  isList,
  isObject,
  isTrue,
  order,
  printValue,
  SafeText,
  type TemplateValue,
  typeName,
} from "./value.ts";

export type TemplateFunction = (args: readonly TemplateValue[]) => TemplateValue;
export type Functions = Readonly<Record<string, TemplateFunction>>;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
  "\0": "\uFFFD",
};

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"'\0]/g, (char) => entities[char] ?? char);

/** Escapes text for a JavaScript string. */
const escapeJs = (text: string): string =>
  text.replace(/[\\'"<>&=\p{Cc}]/gu, (char) =>
    `\\'"`.includes(char)
      ? `\\${char}`
      : `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`,
  );

/** Joins the arguments as fmt.Sprint does: with a space between two that are not strings. */
function sprint(args: readonly TemplateValue[]): string {
  let text = "";
  args.forEach((value, at) => {
    if (at > 0 && typeof args[at - 1] !== "string" && typeof value !== "string") text += " ";
    text += value === null ? "<nil>" : printValue(value);
  });
  return text;
}

function lengthOf(value: TemplateValue): bigint {
  if (typeof value === "string") return BigInt(Buffer.byteLength(value));
  if (isList(value)) return BigInt(value.length);
  if (value instanceof GoMap) return BigInt(value.entries.size);
  if (isObject(value) && value.items !== undefined) return BigInt(value.items.length);
  throw new TemplateError(`error calling len: len of type ${typeName(value)}`);
}

/** The items of any list value. */
export function itemsOf(value: TemplateValue): readonly TemplateValue[] | undefined {
  if (isList(value)) return value;
  return isObject(value) ? value.items : undefined;
}

function indexed(value: TemplateValue, key: TemplateValue): TemplateValue {
  if (value instanceof GoMap) {
    if (typeof key !== "string")
      throw new TemplateError(
        `error calling index: value has type ${typeName(key)}; should be string`,
      );
    return value.entries.get(key) ?? value.zero;
  }
  const items = itemsOf(value);
  if (items === undefined)
    throw new TemplateError(
      value === null
        ? "error calling index: index of untyped nil"
        : `error calling index: can't index item of type ${typeName(value)}`,
    );
  if (typeof key !== "bigint")
    throw new TemplateError(
      `error calling index: cannot index slice/array with type ${typeName(key)}`,
    );
  const found = items[Number(key)];
  if (key < 0n || found === undefined)
    throw new TemplateError(`error calling index: index out of range: ${key}`);
  return found;
}

function sliced(args: readonly TemplateValue[]): TemplateValue {
  const [value, ...bounds] = args;
  const [from = 0, to] = bounds.map((bound) => {
    if (typeof bound !== "bigint") throw new TemplateError("error calling slice: bounds are ints");
    return Number(bound);
  });
  if (typeof value === "string") return Buffer.from(value).subarray(from, to).toString();
  const items = itemsOf(value ?? null);
  if (items === undefined)
    throw new TemplateError(
      `error calling slice: can't slice item of type ${typeName(value ?? null)}`,
    );
  if (from < 0 || (to ?? items.length) > items.length || from > (to ?? items.length))
    throw new TemplateError("error calling slice: index out of range");
  return items.slice(from, to);
}

const compare =
  (name: string, holds: (order: number) => boolean): TemplateFunction =>
  ([left, right]) => {
    if (left === undefined || right === undefined)
      throw new TemplateError(`wrong number of args for ${name}: want 2`);
    return holds(order(left, right, name));
  };

export const builtins: Functions = {
  not: ([value]) => !isTrue(value ?? null),
  len: ([value]) => lengthOf(value ?? null),
  index: ([value, ...keys]) => keys.reduce<TemplateValue>(indexed, value ?? null),
  slice: sliced,
  print: sprint,
  println: (args) =>
    `${args.map((value) => (value === null ? "<nil>" : printValue(value))).join(" ")}\n`,
  printf: ([format, ...rest]) => {
    if (typeof format !== "string")
      throw new TemplateError("wrong type for value; expected string for printf");
    return sprintf(format, rest);
  },
  html: (args) => new SafeText(escapeHtml(sprint(args))),
  js: (args) => escapeJs(sprint(args)),
  urlquery: (args) => encodeURIComponent(sprint(args)).replaceAll("%20", "+"),
  eq: ([first, ...rest]) => {
    if (first === undefined || rest.length === 0)
      throw new TemplateError("error calling eq: missing argument for comparison");
    return rest.some((value) => equal(first, value));
  },
  ne: ([left, right]) => {
    if (left === undefined || right === undefined)
      throw new TemplateError("wrong number of args for ne: want 2");
    return !equal(left, right);
  },
  lt: compare("lt", (found) => found < 0),
  le: compare("le", (found) => found <= 0),
  gt: compare("gt", (found) => found > 0),
  ge: compare("ge", (found) => found >= 0),
};
