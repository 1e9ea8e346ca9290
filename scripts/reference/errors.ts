/** docs/reference/errors.md, from the list of codes. */
import { errorCodes } from "../../src/base/codes.ts";
import { generatedNote, table } from "./markdown.ts";

export function errorsPage(): string {
  const rows = Object.entries(errorCodes).map(([code, { means, next, exit }]) => [
    `\`${code}\``,
    means,
    next,
    String(exit),
  ]);
  return [
    "# Errors",
    "",
    generatedNote,
    "",
    "An error a person can fix is one sentence on standard error, without a stack trace. Exit code 2: it cannot be done as written;",
    "1: it was understood and failed, or the answer is no. A line that starts with `BUG:` is ours to fix.",
    "",
    table(["Code", "Means", "What to do", "Exit"], rows),
    "",
  ].join("\n");
}
