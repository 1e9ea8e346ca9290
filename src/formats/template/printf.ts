/** Go's fmt.Sprintf, for template values. An invalid verb appears in the text, as in Go. */
import {
  exponentText,
  floatText,
  isList,
  printValue,
  SafeText,
  type TemplateValue,
  typeName,
} from "./value.ts";

const verb = /%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d*))?(?:\[(\d+)\])?(.)?/gsu;
const maxWidth = 1_000;

interface Format {
  readonly flags: string;
  readonly width: number | undefined;
  readonly precision: number | undefined;
}

export function sprintf(format: string, args: readonly TemplateValue[]): string {
  let next = 0;
  let reordered = false;
  const text = format.replace(
    verb,
    (
      _whole,
      flags: string,
      width?: string,
      precision?: string,
      index?: string,
      letter?: string,
    ) => {
      if (letter === undefined) return "%!(NOVERB)";
      if (letter === "%") return "%";
      const number = (given: string | undefined): number | undefined => {
        if (given === undefined) return undefined;
        if (given !== "*") return Math.min(maxWidth, Number(given || 0));
        const value = args[next++];
        return typeof value === "bigint" ? Math.min(maxWidth, Number(value)) : undefined;
      };
      const shape: Format = { flags, width: number(width), precision: number(precision) };
      if (index !== undefined) {
        reordered = true;
        next = Number(index) - 1;
      }
      if (next >= args.length) return `%!${letter}(MISSING)`;
      return padded(one(letter, shape, args[next++] ?? null), shape);
    },
  );
  if (reordered || next >= args.length) return text;
  const extra = args.slice(next).map((value) => `${typeName(value)}=${printValue(value)}`);
  return `${text}%!(EXTRA ${extra.join(", ")})`;
}

function one(letter: string, shape: Format, value: TemplateValue): string {
  if (letter === "T") return typeName(value);
  if (isList(value) && "vsqdxf".includes(letter))
    return `[${value.map((item) => one(letter, { ...shape, width: undefined }, item)).join(" ")}]`;
  if (letter === "v") return signed(value === null ? "<nil>" : printValue(value), shape, value);
  if (value === null) return `%!${letter}(<nil>)`;
  if (typeof value === "boolean" && letter === "t") return String(value);
  if (typeof value === "bigint") return integer(letter, shape, value);
  if (typeof value === "number") return float(letter, shape, value);
  const text =
    typeof value === "string" ? value : value instanceof SafeText ? value.text : undefined;
  if (text !== undefined || (typeof value === "object" && "sqxX".includes(letter)))
    return textual(letter, shape, text ?? printValue(value), value);
  return wrong(letter, value);
}

const wrong = (letter: string, value: TemplateValue): string =>
  `%!${letter}(${typeName(value)}=${printValue(value)})`;

function textual(
  letter: string,
  { precision }: Format,
  text: string,
  value: TemplateValue,
): string {
  if (letter === "s")
    return precision === undefined ? text : Array.from(text).slice(0, precision).join("");
  if (letter === "q") return quoteText(text);
  if (letter === "x") return Buffer.from(text).toString("hex");
  if (letter === "X") return Buffer.from(text).toString("hex").toUpperCase();
  return wrong(letter, value);
}

/** Quotes as Go does: unprintable characters are escaped, everything else is unchanged. */
export function quoteText(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll("\\u00", "\\x");
  return `"${escaped.replaceAll("\\b", "\\b").replaceAll("\u007f", "\\x7f")}"`;
}

function integer(letter: string, shape: Format, value: bigint): string {
  const base = { d: 10, b: 2, o: 8, x: 16, X: 16 }[letter];
  if (base !== undefined) {
    const digits = (value < 0n ? -value : value).toString(base);
    const cased = letter === "X" ? digits.toUpperCase() : digits;
    const wide = cased.padStart(shape.precision ?? 0, "0");
    return signed(value < 0n ? `-${wide}` : wide, shape, value);
  }
  if (letter === "c") return String.fromCodePoint(Number(value));
  if (letter === "U") return `U+${value.toString(16).toUpperCase().padStart(4, "0")}`;
  if (letter === "q") return `'${String.fromCodePoint(Number(value))}'`;
  return wrong(letter, value);
}

function float(letter: string, shape: Format, value: number): string {
  const { precision } = shape;
  if (!"eEfFgG".includes(letter)) return wrong(letter, value);
  if (!Number.isFinite(value))
    return signed(floatText(value).replace("+Inf", "+Inf"), shape, value);
  const digits = Math.min(100, precision ?? 6);
  const lower = letter.toLowerCase();
  const text =
    lower === "f"
      ? fixed(value, digits)
      : lower === "e"
        ? exponentText(exponential(value, digits))
        : general(value, precision);
  return signed(letter === "E" || letter === "G" ? text.toUpperCase() : text, shape, value);
}

/** Rounds ties to even, as Go does; toFixed and toExponential round them up. Their digits are exact. */
function tieToEven(rounded: string, exact: string, digits: number): string {
  const places = exact.split("e")[0]?.split(".")[1] ?? "";
  if (!/^50*$/.test(places.slice(digits))) return rounded;
  const cut = places.slice(0, digits);
  const whole = exact.split(".")[0] ?? "";
  const last = Number((cut === "" ? whole : cut).at(-1));
  if (last % 2 === 1) return rounded;
  const exponent = /e.*$/.exec(exact)?.[0] ?? "";
  return `${whole}${cut === "" ? "" : `.${cut}`}${exponent}`;
}

const exactDigits = (digits: number): number => Math.min(100, digits + 60);

/** toFixed switches to an exponent at 1e21; Go never does. */
function fixed(value: number, digits: number): string {
  if (Math.abs(value) < 1e21)
    return tieToEven(value.toFixed(digits), value.toFixed(exactDigits(digits)), digits);
  const whole = BigInt(value).toString();
  return digits === 0 ? whole : `${whole}.${"0".repeat(digits)}`;
}

const exponential = (value: number, digits: number): string =>
  tieToEven(value.toExponential(digits), value.toExponential(exactDigits(digits)), digits);

function general(value: number, precision: number | undefined): string {
  if (value === 0) return "0";
  if (precision === undefined) return floatText(value);
  const digits = Math.min(100, Math.max(1, precision));
  const [mantissa = "", exponent = "0"] = exponential(value, digits - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= digits)
    return exponentText(`${trimZeros(mantissa)}e${power < 0 ? "-" : "+"}${Math.abs(power)}`);
  return trimZeros(fixed(value, Math.min(100, Math.max(0, digits - 1 - power))));
}

const trimZeros = (text: string): string =>
  text.includes(".") ? text.replace(/\.?0+$/, "") : text;

function signed(text: string, { flags }: Format, value: TemplateValue): string {
  const numeric = typeof value === "number" || typeof value === "bigint";
  if (!numeric || text.startsWith("-") || text.startsWith("+")) return text;
  return flags.includes("+") ? `+${text}` : flags.includes(" ") ? ` ${text}` : text;
}

function padded(text: string, { flags, width }: Format): string {
  if (width === undefined) return text;
  const short = width - Array.from(text).length;
  if (short <= 0) return text;
  if (flags.includes("-")) return text + " ".repeat(short);
  if (!flags.includes("0")) return " ".repeat(short) + text;
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  return sign + "0".repeat(short) + text.slice(sign.length);
}
