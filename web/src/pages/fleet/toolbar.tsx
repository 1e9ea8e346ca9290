/** Filter, count, and the sort order for screens too narrow for column heads. */
import { formatFixedPoint } from "../../format/quantity.ts";
import { sortKeys } from "./sort.ts";
import { gpuLabels } from "../../query/known-gpus.ts";
import { fleetGpus, momentMs } from "./moment.ts";
import { hrefOf } from "../../view-state/address.ts";
import { groupings } from "./group.ts";
import { statisticsError } from "./statistics.ts";
import { density } from "../../view-state/preferences.ts";
import { by, filter, rows, sort, view } from "./view.ts";
import { columns } from "./columns.tsx";

/** More curves in one chart are unreadable. */
const MOST_COMPARED = 16;

export function Toolbar() {
  const [shown, all] = [rows.value.length, fleetGpus.value.length];
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
        {shown === all ? "" : `${formatFixedPoint(shown, 0)} of `}
        {formatFixedPoint(all, 0)} {all === 1 ? "GPU" : "GPUs"}
      </span>
      {shown !== all && shown >= 2 && shown <= MOST_COMPARED && (
        <a
          href={hrefOf("compare", {
            gpus: rows.value.map(({ id }) => id).join(","),
          })}
        >
          Compare these
        </a>
      )}
      {view.value === "range" && statisticsError.value !== undefined && (
        <span class="bad" role="alert">
          {statisticsError.value}
        </span>
      )}
      <span class="spacer" />
      <label class="group-by">
        <span class="unit">Group by </span>
        <select
          aria-label="Group by"
          value={by.value}
          onChange={(event) => {
            by.value = event.currentTarget.value;
          }}
        >
          <option value="">nothing</option>
          {groupings(gpuLabels.value.values()).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <fieldset class="choice">
        <legend class="unseen">What the table shows</legend>
        {(["now", "range"] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={view.value === name}
            data-tip={
              name === "now"
                ? "The readings of the moment, with bars and curves"
                : "The moment, and min, avg and max over the time range"
            }
            onClick={() => {
              view.value = name;
            }}
          >
            {name === "range" ? "Min avg max" : momentMs.value === undefined ? "Now" : "Moment"}
          </button>
        ))}
      </fieldset>
      <label class="sort-by">
        <span class="unit">Sort by </span>
        <select
          aria-label="Sort by"
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
