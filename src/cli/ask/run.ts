/** Runs `gpulse ask`: matches the question to a tool, runs it on a hub, and shows the query that was run. */
import { GpulseError } from "../../base/error.ts";
import {
  type Cell,
  pageLink,
  renderCell,
  type Rerun,
  type ToolAnswer,
} from "../../view/tools/answer.ts";
import { findTool } from "../../view/tools/list.ts";
import type { CommandIo } from "../command/io.ts";
import { type McpFlags, openHubReader } from "../mcp/run.ts";
import { alignColumns } from "../table.ts";
import { examples, type MatchedQuestion, matchQuestion } from "./grammar.ts";

export type AskFlags = McpFlags;

export async function runAsk(question: string, flags: AskFlags, io: CommandIo): Promise<number> {
  if (/^(?:help|what can (?:you|i) (?:do|ask)|)\??$/i.test(question.trim())) {
    if (flags.json === true) io.stdout.write(`${JSON.stringify({ examples }, null, 2)}\n`);
    else io.stdout.write(`gpulse ask understands questions such as:\n${exampleLines}`);
    return 0;
  }
  const matched = matchQuestion(question);
  const tool = matched && findTool(matched.tool);
  if (matched === undefined || tool === undefined)
    throw new GpulseError(
      "USAGE",
      `This question is not supported: ask matches a few patterns and is not a language model. It supports:\n${exampleLines}For anything else use gpulse query with PromQL, or gpulse mcp with an AI agent.`,
    );
  const hub = openHubReader(flags, io);
  const answer = withUnit(await tool.call(matched.input, { hub, nowMs: Date.now() }), matched.unit);
  io.stdout.write(
    flags.json === true
      ? `${JSON.stringify(answerJson(matched, answer, hub.url), null, 2)}\n`
      : answerText(matched, answer, hub.url),
  );
  return 0;
}

/** A query's values have the unit that the question implies. */
const withUnit = (answer: ToolAnswer, unit: string | undefined): ToolAnswer =>
  unit === undefined
    ? answer
    : {
        ...answer,
        columns: answer.columns.map((column) =>
          column.title === "SERIES" ? column : { ...column, unit },
        ),
      };

/** Renders a cell without quotes; control characters stay escaped. */
const showCell = (cell: Cell): string =>
  cell !== undefined && "name" in cell ? renderCell(cell).slice(1, -1) : renderCell(cell);

const exampleLines = examples.map((example) => `  gpulse ask ${example}\n`).join("");

function answerText(matched: MatchedQuestion, answer: ToolAnswer, url: string): string {
  const { summary, columns, rows, notes = [], rerun, page, total, offset = 0 } = answer;
  const left = (total ?? 0) - offset - rows.length;
  return [
    `${summary}\n`,
    ...(rows.length === 0
      ? []
      : [
          "\n",
          alignColumns([
            columns.map(({ title, unit }) => (unit === undefined ? title : `${title} (${unit})`)),
            ...rows.map((row) => row.map(showCell)),
          ]),
        ]),
    "\n",
    ...(left > 0 ? [`${left} more: see the page.\n`] : []),
    ...notes.map((note) => `Note: ${note}\n`),
    `Tool: ${matched.tool} ${JSON.stringify(matched.input)}\n`,
    ...rerun.slice(0, 3).map((one) => `Same: ${commandOf(one, url)}\n`),
    `Page: ${pageLink(url, page)}\n`,
  ].join("");
}

/** The command that prints the same result again, quoted for a shell. */
const commandOf = (one: Rerun, url: string): string =>
  "route" in one
    ? `curl -s ${quoteForShell(pageLink(url, one.route.replace(/^\//, "")))}`
    : `gpulse query ${quoteForShell(one.promql)}`;

const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function answerJson(matched: MatchedQuestion, answer: ToolAnswer, url: string): unknown {
  const { columns, rows, page, ...rest } = answer;
  return {
    ...matched,
    ...rest,
    columns,
    rows: rows.map((row) =>
      row.map((cell) => {
        if (cell === undefined) return null;
        return "number" in cell ? cell.number : "word" in cell ? cell.word : cell.name;
      }),
    ),
    page: pageLink(url, page),
  };
}
