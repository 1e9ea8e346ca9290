/** Explore: any PromQL query as a graph or a table, with every metric explained beside it. */
import { useState } from "preact/hooks";
import { useShortcuts } from "../../app/shortcuts.ts";
import { HistogramCharts } from "../../chart/histogram-charts.tsx";
import { QueryChart } from "../../chart/query-chart.tsx";
import type { Labels } from "../../query/columns.ts";
import { labelText, differingLabelNames } from "../../query/label-text.ts";
import { bareCounter, familyOf, unitOf } from "../../query/meaning.ts";
import { useInstant } from "../../query/use-fetch.ts";
import { copyToClipboard } from "../../ui/copy.tsx";
import { timeWindow } from "../../view-state/time.ts";
import { Editor } from "./editor.tsx";
import { MetricBrowser } from "./metric-browser.tsx";
import { ResultsTable } from "./results-table.tsx";
import { expr, forgetQueries, queries, run, setDraft, tab, turn } from "./view.ts";
import "./explore.css";

export function Page() {
  const query = expr.value;
  useShortcuts("Explore", [
    { keys: ["e"], says: "write a query", run: () => focusEditor() },
    {
      keys: ["v"],
      says: "graph or table",
      run: () => void (tab.value = tab.value === "graph" ? "table" : "graph"),
    },
  ]);
  return (
    <div class="explore">
      <h2 class="unseen">Explore</h2>
      <div class="ask">
        <QueryLine query={query} />
        {query === "" ? <Start /> : <Answer query={query} />}
      </div>
      <Aside />
    </div>
  );
}

function focusEditor(): void {
  document.querySelector(".promql")?.shadowRoot?.querySelector<HTMLElement>(".cm-content")?.focus();
}

function QueryLine({ query }: { query: string }) {
  const { error, annotations } = useOutcome(query);
  const counter = bareCounter(query);
  return (
    <>
      <div class="query-line">
        <Editor
          onChange={setDraft}
          onRun={run}
          ran={query}
          turn={turn.value}
          error={error}
          annotations={annotations}
        />
        <button type="button" class="primary" onClick={() => run()}>
          Run
        </button>
      </div>
      {annotations.length > 0 && (
        <ul class="annotations" aria-label="Warnings and infos">
          {annotations.map((text) => (
            <li key={text} class={text.startsWith("PromQL info") ? "unit" : "warn"}>
              {text}
            </li>
          ))}
        </ul>
      )}
      {counter !== undefined && (
        <p class="hint">
          <code>{counter}</code> is a counter.{" "}
          <button type="button" class="link" onClick={() => run(`rate(${query}[5m])`)}>
            Show its rate instead
          </button>
        </p>
      )}
    </>
  );
}

interface Outcome {
  readonly error: string | undefined;
  readonly annotations: readonly string[];
  /** The kinds of samples at the end of the range. */
  readonly hasHistograms: boolean;
  readonly hasFloats: boolean;
}

/** The hub's messages about the query itself, in either view. */
function useOutcome(query: string): Outcome {
  const { value, error } = useInstant(
    query === "" ? "0" : query,
    Math.floor(timeWindow.value.toMs / 10_000) * 10_000,
  );
  const samples = value?.samples ?? [];
  return {
    error: error === undefined || error.status === 0 ? undefined : error.message,
    annotations: error === undefined ? (value?.annotations ?? []) : [],
    hasHistograms: samples.some(({ isHistogram }) => isHistogram === true),
    hasFloats: samples.some(({ isHistogram }) => isHistogram !== true),
  };
}

function Answer({ query }: { query: string }) {
  const unit = unitOf(query);
  const { hasHistograms, hasFloats } = useOutcome(query);
  return (
    <>
      <div class="row">
        <fieldset class="choice">
          <legend class="unseen">View</legend>
          {(["graph", "table"] as const).map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={tab.value === name}
              onClick={() => {
                tab.value = name;
              }}
            >
              {name === "graph" ? "Graph" : "Table"}
            </button>
          ))}
        </fieldset>
        <span class="spacer" />
        <button type="button" class="quiet" onClick={() => void share()}>
          Copy link
        </button>
      </div>
      {tab.value === "graph" && hasHistograms && (
        <HistogramCharts
          key={query}
          title={query}
          query={query}
          unit={unit}
          family={familyOf(query)}
        />
      )}
      {tab.value === "graph" && hasHistograms && isBareSelector(query) && (
        <p class="hint">
          These histograms may be counters.{" "}
          <button type="button" class="link" onClick={() => run(`rate(${query}[5m])`)}>
            Show its rate instead
          </button>
        </p>
      )}
      {tab.value === "graph" && (hasFloats || !hasHistograms) && (
        <QueryChart
          key={query}
          title={query}
          family={familyOf(query)}
          unit={unit}
          colourBy="line"
          heightPx={320}
          queries={[{ query, label: lineLabel }]}
          empty="No series has a value in this range: try a longer one, or find the metric in the list."
          exemplarsOf={query}
        />
      )}
      {tab.value === "table" && <ResultsTable query={query} unit={unit} />}
    </>
  );
}

/** A selector alone, such as `request_latency_seconds{model="a"}`. */
const isBareSelector = (query: string): boolean =>
  /^\s*[a-zA-Z_:][\w:]*\s*(?:\{[^}]*\})?\s*$/.test(query);

const lineLabel = (labels: Labels, all: readonly Labels[]): string =>
  labelText(labels, differingLabelNames(all));

const share = (): Promise<void> =>
  copyToClipboard(location.href, "The link to this view is in the clipboard.");

const starters: readonly (readonly [string, string])[] = [
  ["gpu_power_watts", "power of every GPU"],
  ["avg by (host) (gpu_utilization_ratio)", "mean utilisation of each machine"],
  ["topk(5, gpu_temperature_celsius)", "the five hottest sensors"],
  ["sum(gpu_power_watts)", "power of the whole fleet"],
  ["gpu_temperature_margin_celsius < 10", "sensors close to thermal slowdown"],
  ["sum by (reason) (gpu_throttle_active)", "throttle reasons in effect"],
];

function Start() {
  return (
    <section class="starters" aria-label="Example queries">
      <p class="unit">Write a query, choose a metric from the list, or start with one of these.</p>
      <ul>
        {starters.map(([query, says]) => (
          <li key={query}>
            <button type="button" onClick={() => run(query)}>
              <code>{query}</code> <span class="unit">{says}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Aside() {
  const [shown, setShown] = useState<"metrics" | "history">("metrics");
  return (
    <aside class="aside-panel" aria-label="Metrics and history">
      <fieldset class="choice">
        <legend class="unseen">List</legend>
        {(["metrics", "history"] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={shown === name}
            onClick={() => setShown(name)}
          >
            {name === "metrics" ? "Metrics" : "History"}
          </button>
        ))}
      </fieldset>
      {shown === "metrics" ? <MetricBrowser /> : <History />}
    </aside>
  );
}

function History() {
  if (queries.value.length === 0) return <p class="unit">No query was run in this browser yet.</p>;
  return (
    <>
      <ul class="history">
        {queries.value.map((query) => (
          <li key={query}>
            <button type="button" onClick={() => run(query)}>
              <code>{query}</code>
            </button>
          </li>
        ))}
      </ul>
      <button type="button" class="quiet" onClick={forgetQueries}>
        Clear history
      </button>
    </>
  );
}
