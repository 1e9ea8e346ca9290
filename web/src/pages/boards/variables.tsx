/** The variables of a board: each is a list of values of which one or all are selected. */
import { useEffect } from "preact/hooks";
import { type Board, type BoardVariable, fillVariables } from "../../../../src/view/board/board.ts";
import { getJson } from "../../query/http.ts";
import { gpuTitle } from "../../chart/gpu-name.ts";
import { useFetch } from "../../query/use-fetch.ts";
import { rangeMs, timeWindow } from "../../view-state/time.ts";
import { choose, chosenValues } from "./view.ts";

const EVERY_MS = 60_000;
const MOST_VALUES = 2_000;

/** Only variables that a query uses. */
export function Variables({ board }: { board: Board }) {
  const queries = board.panels.flatMap((panel) => panel.queries.map(({ query }) => query));
  const used = board.variables.filter(({ name }) =>
    [...queries, ...board.variables.map(({ selector }) => selector)].some((text) =>
      new RegExp(String.raw`\$${name}\b`).test(text),
    ),
  );
  if (used.length === 0) return null;
  return (
    <div class="bar-line variables" role="group" aria-label="Variables">
      {used.map((variable) => (
        <VariableSelect key={variable.name} {...{ board, variable }} />
      ))}
    </div>
  );
}

function VariableSelect({ board, variable }: { board: Board; variable: BoardVariable }) {
  const chosen = chosenValues(board);
  const selector = fillVariables(variable.selector, board.variables, chosen, rangeMs.value);
  const { value: values = [], loading } = useValues(variable.label, selector);
  const value = chosen.get(variable.name);
  const { name, single = false } = variable;
  const first = single ? values[Math.min(placeAmongAlike(board, variable), values.length - 1)] : "";
  useEffect(() => {
    if (single && value === undefined && first !== undefined) choose(name, first);
  }, [single, value, first, name]);
  // A value that another variable excludes stays in the list, because it explains why nothing is shown.
  const offered = value === undefined || values.includes(value) ? values : [value, ...values];
  return (
    <label class="check">
      {name}
      <select
        class="input"
        value={value ?? ""}
        disabled={offered.length === 0}
        onChange={(event) =>
          choose(name, event.currentTarget.value === "" ? undefined : event.currentTarget.value)
        }
      >
        {(!single || value === undefined) && (
          <option value="">
            {offered.length === 0 && !loading ? "none here" : single ? "Choose one" : "All"}
          </option>
        )}
        {offered.slice(0, MOST_VALUES).map((one) => (
          <option key={one} value={one}>
            {variable.label === "uuid" ? gpuTitle(one) : one}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Two variables with the same values start with different ones, so that a comparison has two subjects. */
const placeAmongAlike = ({ variables }: Board, { name, label, selector }: BoardVariable): number =>
  variables
    .filter((one) => one.label === label && one.selector === selector)
    .findIndex((one) => one.name === name);

/** The label's values in the current range, refreshed by the minute. */
function useValues(label: string, selector: string) {
  const { fromMs, toMs } = timeWindow.value;
  const minute = (ms: number): number => Math.floor(ms / EVERY_MS) * 60;
  const params = new URLSearchParams({
    "match[]": selector,
    start: String(minute(fromMs)),
    end: String(minute(toMs) + 60),
  });
  const url = `api/v1/label/${label}/values?${params.toString()}`;
  return useFetch(url, async (signal) => {
    const { data } = (await getJson(url, signal)) as { readonly data: readonly string[] };
    return data.filter((value) => value !== "");
  });
}
