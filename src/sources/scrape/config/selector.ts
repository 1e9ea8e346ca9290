/**
 * Kubernetes label and field selectors, checked by the rules of the API server's own parser, so that a selector the server would
 * reject is reported when the file is read.
 *
 *   label:  app=web, tier in (a, b), !canary, cores > 4
 *   field:  spec.nodeName=a,status.phase!=Failed
 */

const namePart = /^(?:[A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9]$/;
const prefixPart = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/** Returns the problem of a label selector; undefined if it is valid. */
export function labelSelectorProblem(text: string): string | undefined {
  const tokens = text.match(/!=|==|[=!(),<>]|[^\s=!(),<>]+/g) ?? [];
  let at = 0;
  const next = (): string => tokens[at++] ?? "";
  const peek = (): string => tokens[at] ?? "";
  const isWord = (token: string): boolean => token !== "" && !/^[=!(),<>]/.test(token);
  while (at < tokens.length) {
    const isNegated = peek() === "!";
    if (isNegated) at++;
    const key = next();
    const keyProblem = isWord(key)
      ? labelKeyProblem(key)
      : `a label name is expected before "${key}"`;
    if (keyProblem !== undefined) return keyProblem;
    if (!isNegated && peek() !== "" && peek() !== ",") {
      const operator = next();
      const problem =
        operator === "in" || operator === "notin"
          ? setProblem(operator, next, peek)
          : comparisonProblem(operator, next, peek);
      if (problem !== undefined) return problem;
    }
    if (at === tokens.length) return undefined;
    const separator = next();
    if (separator !== ",") return `"${separator}" is found where a comma is expected`;
    if (at === tokens.length) return "a label name is expected after the last comma";
  }
  return undefined;
}

type Token = () => string;

function setProblem(operator: string, next: Token, peek: Token): string | undefined {
  if (next() !== "(") return `${operator} needs a list in parentheses`;
  if (peek() === ")") return `${operator} needs at least one value`;
  for (;;) {
    const token = next();
    if (token === ")") return undefined;
    if (token === ",") continue;
    if (token === "" || /^[=!(<>]/.test(token)) return `the list of ${operator} is not closed`;
    const problem = labelValueProblem(token);
    if (problem !== undefined) return problem;
    if (peek() !== "," && peek() !== ")")
      return `the list of ${operator} needs commas between values`;
  }
}

function comparisonProblem(operator: string, next: Token, peek: Token): string | undefined {
  if (!["=", "==", "!=", "<", ">"].includes(operator)) return `"${operator}" is not an operator`;
  const isOrder = operator === "<" || operator === ">";
  if (peek() === "" || peek() === ",")
    return isOrder ? `${operator} needs a whole number` : undefined;
  const value = next();
  if (/^[=!(),<>]/.test(value)) return `a value is expected instead of "${value}"`;
  if (isOrder && !/^[+-]?\d+$/.test(value)) return `${operator} needs a whole number`;
  return labelValueProblem(value);
}

function labelKeyProblem(key: string): string | undefined {
  const parts = key.split("/");
  const name = parts.at(-1) ?? "";
  const prefix = parts.length === 2 ? (parts[0] ?? "") : "a";
  const isValid =
    parts.length <= 2 &&
    name.length <= 63 &&
    namePart.test(name) &&
    prefix.length <= 253 &&
    prefixPart.test(prefix);
  return isValid ? undefined : `"${key}" is not a valid label name`;
}

const labelValueProblem = (value: string): string | undefined =>
  value.length <= 63 && namePart.test(value) ? undefined : `"${value}" is not a valid label value`;

/**
 * Returns the problem of a field selector; undefined if it is valid. A backslash escapes a comma, an equals sign or itself in a value.
 */
export function fieldSelectorProblem(text: string): string | undefined {
  const terms = text.match(/(?:\\[\s\S]|[^,\\]|\\$)+/g) ?? [];
  for (const term of terms) {
    const [, value] = /^(?:\\[\s\S]|(?!!=)[^=\\])*?(?:!=|==|=)([\s\S]*)$/.exec(term) ?? [];
    if (value === undefined) return `"${term}" has no =, == or !=`;
    if (/(?:^|[^\\])(?:\\\\)*=/.test(value)) return `"${term}" has a second =; write it \\=`;
    if (/\\(?![\\,=])/.test(value.replaceAll("\\\\", "")))
      return `"${term}" has a \\ that escapes nothing`;
  }
  return undefined;
}
