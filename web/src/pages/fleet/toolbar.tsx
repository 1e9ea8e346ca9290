/** Filter, count, and the order for screens too narrow for column heads. */
import { fixed } from "../../format/quantity.ts";
import { sortKeys } from "./sort.ts";
import { gpus } from "../../live/feed.ts";
import { density } from "../../view-state/tastes.ts";
import { filter, rows, sort } from "./view.ts";
import { columns } from "./columns.tsx";

export function Toolbar() {
  const [shown, all] = [rows.value.length, gpus.value.length];
  return (
    <search class="toolbar">
      <span class="filter">
        <input
          id="filter"
          type="search"
          placeholder="Filter: model, #3, job, lost, util>50"
          aria-label="Filter the GPUs"
          autocomplete="off"
          spellcheck={false}
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
        <kbd aria-hidden="true">/</kbd>
      </span>
      <span class="count" role="status">
        {shown === all ? "" : `${fixed(shown, 0)} of `}
        {fixed(all, 0)} {all === 1 ? "GPU" : "GPUs"}
      </span>
      <span class="spacer" />
      <label class="sort-by">
        <span class="unit">Sort by </span>
        <select
          value={sort.value.key}
          onChange={(event) => {
            const key = sortKeys.find((known) => known === event.currentTarget.value);
            if (key !== undefined) sort.value = { key, descending: key !== "gpu" && key !== "job" };
          }}
        >
          {columns.map(({ key, label }) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="quiet dense"
        aria-pressed={density.value === "compact"}
        onClick={() => {
          density.value = density.value === "compact" ? "comfortable" : "compact";
        }}
      >
        Dense
      </button>
    </search>
  );
}
