/** Validates a board from outside or from an old file: sizes, names, and that each query is PromQL. */
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { units } from "../../model/catalogue/entry.ts";
import { QueryError } from "../../query/errors.ts";
import { parse, parseSelector } from "../../query/parse/parse.ts";
import { isLabelName } from "../../query/quote.ts";
import {
  type Board,
  boardLimits,
  durationNames,
  fillVariables,
  panelKinds,
  variableName,
} from "../../view/board/board.ts";

const { titleCharacters, queryCharacters } = boardLimits;

const shortText = (least: number) => {
  const takes = `text of ${least} to ${titleCharacters} characters`;
  return v.pipe(
    v.string(takes),
    v.trim(),
    v.minLength(least, takes),
    v.maxLength(titleCharacters, takes),
  );
};

const queryText = () => {
  const takes = `PromQL of at most ${queryCharacters} characters`;
  return v.pipe(
    v.string(takes),
    v.trim(),
    v.minLength(1, takes),
    v.maxLength(queryCharacters, takes),
  );
};

const whole = (most: number) => {
  const takes = `a whole number from 1 to ${most}`;
  return v.pipe(v.number(takes), v.integer(takes), v.minValue(1, takes), v.maxValue(most, takes));
};

const edge = () => v.optional(v.pipe(v.number("a number"), v.finite("a number")));

const panel = v.strictObject({
  id: v.pipe(v.string("a name"), v.regex(/^[\w-]{1,40}$/, "1 to 40 letters, digits, _ and -")),
  title: shortText(0),
  kind: v.picklist(panelKinds, `one of ${panelKinds.join(", ")}`),
  queries: v.pipe(
    v.array(v.strictObject({ query: queryText(), legend: v.optional(shortText(0)) })),
    v.minLength(1, "a list with at least one query"),
    v.maxLength(
      boardLimits.queriesPerPanel,
      `a list of at most ${boardLimits.queriesPerPanel} queries`,
    ),
  ),
  unit: v.optional(v.picklist(units, `one of ${units.join(", ")}`)),
  min: edge(),
  max: edge(),
  columns: whole(boardLimits.columns),
  rows: whole(boardLimits.rows),
});

const variable = v.strictObject({
  name: v.pipe(
    v.string("a name"),
    v.regex(variableName, "a name of letters, digits and _"),
    v.check(
      (name) => !durationNames.some((one) => one === name),
      `another name: $${durationNames.join(", $")} are filled by the page`,
    ),
  ),
  label: v.pipe(v.string("a label name"), v.maxLength(200), v.check(isLabelName, "a label name")),
  selector: queryText(),
  single: v.optional(v.literal(true, "true, or left out")),
});

const boardSchema = v.strictObject({
  title: shortText(1),
  variables: v.pipe(
    v.array(variable),
    v.maxLength(boardLimits.variables, `a list of at most ${boardLimits.variables} variables`),
  ),
  panels: v.pipe(
    v.array(panel),
    v.maxLength(boardLimits.panels, `a list of at most ${boardLimits.panels} panels`),
  ),
});

export type CheckedBoard =
  | { readonly board: Board; readonly problem?: undefined }
  | { readonly board?: undefined; readonly problem: string };

const maxListedProblems = 5;

export function checkBoard(value: unknown): CheckedBoard {
  const { board, problem } = checkShape(value);
  if (board === undefined) return { problem };
  const problems = [...wrongQueries(board)];
  return problems.length > 0 ? { problem: sentences(problems) } : { board };
}

/** Validates everything except the PromQL, which takes longer: sufficient for a stored board. */
export function checkShape(value: unknown): CheckedBoard {
  const checked = checkValue(boardSchema, value);
  if (!checked.ok) return { problem: sentences(checked.problems.map(({ sentence }) => sentence)) };
  const board = checked.value;
  const problems = [...repeated(board)];
  if (problems.length > 0) return { problem: sentences(problems) };
  const { totalQueryCharacters } = boardLimits;
  if (countQueryCharacters(board) > totalQueryCharacters)
    return {
      problem: `All queries of a board have at most ${totalQueryCharacters} characters together: remove panels.`,
    };
  const bytes = Buffer.byteLength(JSON.stringify(board));
  if (bytes > boardLimits.boardBytes)
    return {
      problem: `A board has at most ${boardLimits.boardBytes / 1024} KiB, and this one ${Math.ceil(bytes / 1024)} KiB: remove panels.`,
    };
  return { board };
}

export const countQueryCharacters = ({ panels }: Pick<Board, "panels">): number =>
  panels.reduce(
    (sum, { queries }) => queries.reduce((characters, { query }) => characters + query.length, sum),
    0,
  );

function sentences(all: readonly string[]): string {
  const more = all.length - maxListedProblems;
  return [
    ...all.slice(0, maxListedProblems),
    ...(more > 0 ? [`And ${more} more mistakes.`] : []),
  ].join(" ");
}

function* repeated({ panels, variables }: Board): Generator<string> {
  const [ids, names] = [new Set<string>(), new Set<string>()];
  for (const { id } of panels)
    if (ids.size === ids.add(id).size) yield `Two panels have the id "${id}".`;
  for (const { name } of variables)
    if (names.size === names.add(name).size) yield `Two variables are named "${name}".`;
}

function* wrongQueries({ panels, variables }: Board): Generator<string> {
  const fill = (query: string): string =>
    fillVariables(query, variables, new Map(), 3_600_000).replaceAll("$step", "15s");
  for (const { name, selector } of variables) {
    const wrong = mistakeIn(() => parseSelector(fill(selector)));
    if (wrong !== undefined) yield `The selector of variable "${name}" is wrong: ${wrong}.`;
  }
  for (const { id, title, queries } of panels)
    for (const { query } of queries) {
      const wrong = mistakeIn(() => parse(fill(query)));
      if (wrong !== undefined) yield `A query of panel "${title || id}" is wrong: ${wrong}.`;
    }
}

function mistakeIn(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof QueryError) return thrown.message;
    throw thrown;
  }
}
