/**
 * Quotes external text (hosts, pods, jobs, labels, messages) as data in a result: between double quotes, bounded, and without a
 * character that could end the quotes, start a line or a cell, carry markup or a link, or change how the rest is displayed.
 */

/** Visible letters and digits of every script, the space, and punctuation that no markup uses. */
const plain = /^[\p{L}\p{N} !#$%'()*+,\-./:;=?@^_{}~°–±×€]$/u;
/** Invisible characters with the category of a letter: Hangul fillers and the like. */
const invisible = /^\p{Default_Ignorable_Code_Point}$/u;

export const nameLength = 80;

/** `"…"`. A truncated text ends with an ellipsis, which a text itself cannot contain unescaped. */
export const quoteText = (text: string, most = nameLength): string =>
  `"${escapePoints(text, escapeAsJson, most)}"`;

/** A PromQL string literal: escaped in the same way, never truncated. */
export const promqlString = (text: string): string =>
  `"${escapePoints(text.replaceAll(loneSurrogate, "\uFFFD"), escapeAsGo, Infinity)}"`;

/** Returns a PromQL regular expression that matches the text literally. */
export const literalPattern = (text: string): string =>
  text.replaceAll(/[\\^$.|?*+()[\]{}]/g, (letter) => `\\${letter}`);

const loneSurrogate = /\p{Surrogate}/gu;

function escapePoints(text: string, escape: (point: string) => string, most: number): string {
  let escaped = "";
  let count = 0;
  for (const point of text) {
    if (++count > most) {
      escaped += "…";
      break;
    }
    const isLink = point === "/" && escaped.endsWith(":/");
    if (point === '"' || point === "\\") escaped += `\\${point}`;
    else if (plain.test(point) && !invisible.test(point) && !isLink) escaped += point;
    else escaped += escape(point);
  }
  // Chat clients turn it into a link.
  return escaped.replaceAll(/www\./gi, (found) => `${found.slice(0, 3)}\\u002e`);
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");

/** Escapes UTF-16 units, as in JSON. */
const escapeAsJson = (point: string): string =>
  point
    .split("")
    .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
    .join("");

function escapeAsGo(point: string): string {
  const code = point.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
}

/** An expression as its caller wrote it, on one line; unprintable characters are escaped as inside a string literal. */
export const printablePromql = (promql: string): string =>
  promql
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll(/[^\x20-\x7e\p{L}\p{N}]|\p{Default_Ignorable_Code_Point}/gu, escapeAsGo);

/**
 * Requotes the string literals of an expression that gpulse built with JSON: each is escaped as external text, except for gpulse's
 * own alternatives.
 */
export const requotePromql = (promql: string): string =>
  promql.replaceAll(/"(?:[^"\\]|\\.)*"/g, (literal) =>
    /^"[a-z_|]*"$/.test(literal) ? literal : promqlString(JSON.parse(literal) as string),
  );
