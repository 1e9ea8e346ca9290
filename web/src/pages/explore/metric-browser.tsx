/** All metrics with their descriptions; a click draws one. Metrics with data in the range stand out. */
import { useMemo, useState } from "preact/hooks";
import { useJson } from "../../query/use-fetch.ts";
import { timeWindow } from "../../view-state/time.ts";
import {
  groups,
  type MetricFacts,
  type MetricMetadataMap,
  metricsOf,
  searchMetrics,
} from "./metrics.ts";
import { run } from "./view.ts";

const HOUR_MS = 3_600_000;
const MOST_SHOWN = 300;

export function MetricBrowser() {
  const [typed, setTyped] = useState("");
  const [onlyStored, setOnlyStored] = useState(true);
  const { fromMs, toMs } = timeWindow.value;
  // Rounded to the hour, so that a live range does not send a request every second.
  const [start, end] = [Math.floor(fromMs / HOUR_MS) * 3_600, Math.ceil(toMs / HOUR_MS) * 3_600];
  const metadata = useJson<{ data: MetricMetadataMap }>("api/v1/metadata");
  const names = useJson<{ data: readonly string[] }>(
    `api/v1/label/__name__/values?start=${start}&end=${end}`,
  );
  const metrics = useMemo(
    () => metricsOf(metadata.value?.data ?? {}, names.value?.data),
    [metadata.value, names.value],
  );
  const shown = searchMetrics(metrics, typed)
    .filter(({ stored }) => !onlyStored || stored !== false)
    .slice(0, MOST_SHOWN);
  return (
    <div class="browser">
      <input
        class="input"
        type="search"
        aria-label="Find a metric by name or meaning"
        placeholder="Find a metric by name or meaning"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={onlyStored}
          onChange={(event) => setOnlyStored(event.currentTarget.checked)}
        />
        only with samples in this range
      </label>
      <div class="metric-list" role="group" aria-label="Metrics">
        {groups.map((group) => {
          const inGroup = shown.filter((metric) => metric.group === group);
          return inGroup.length === 0 ? null : (
            <section key={group}>
              <h3>{group}</h3>
              <ul>
                {inGroup.map((metric) => (
                  <Metric key={metric.name} metric={metric} />
                ))}
              </ul>
            </section>
          );
        })}
        {shown.length === 0 && (
          <p class="unit">
            {typed === "" ? "No metric has samples in this range." : "No metric matches."}
          </p>
        )}
      </div>
    </div>
  );
}

function Metric({ metric: { name, kind, unit, help, labels, stored } }: { metric: MetricFacts }) {
  const more = [
    kind,
    unit === "none" || unit === "" ? undefined : unit,
    ...labels.map((one) => `${one.name}: ${one.help}`),
  ];
  return (
    <li data-stored={stored === false ? "no" : undefined}>
      <button
        type="button"
        data-tip={more.filter((part) => part !== undefined).join("\n")}
        onClick={() => run(name)}
      >
        <code>{name}</code>
        <span class="unit">{help}</span>
      </button>
    </li>
  );
}
