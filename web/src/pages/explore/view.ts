/** The state of Explore, stored in the address; and earlier queries, stored in this browser. */
import { signal } from "@preact/signals";
import { Param, oneOf, text } from "../../view-state/param.ts";
import { readStoredText, writeStoredText } from "../../view-state/preferences.ts";
import { addToHistory, readHistory } from "./history.ts";

/** The query that was run. */
export const expr = new Param("expr", text, "push");
export const tab = new Param("tab", oneOf(["graph", "table"]));

/** The text in the editor, run or not. */
let draft = "";
export const setDraft = (typed: string): void => {
  draft = typed;
};
export const turn = signal(0);

const KEY = "gpulse.queries";
export const queries = signal(readHistory(readStoredText(KEY)));

/** Without an argument, runs the text in the editor. */
export function run(query: string = draft): void {
  const wanted = query.trim();
  expr.value = wanted;
  turn.value += 1;
  if (wanted === "") return;
  queries.value = addToHistory(queries.value, wanted);
  writeStoredText(KEY, JSON.stringify(queries.value));
}

export function forgetQueries(): void {
  queries.value = [];
  writeStoredText(KEY, "[]");
}
