/** The details of one rule: its expression over time with its threshold, its current alerts, and a backtest. */
import { useTitle } from "../../app/title.ts";
import { QueryChart } from "../../chart/query-chart.tsx";
import { formatReadable } from "../../format/readable.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { Banner } from "../../ui/banner.tsx";
import { Labels } from "../../ui/labels.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { type ApiRule, type ApiRuleGroup, isPageRule, type LabelMap, levelOf } from "./api.ts";
import { BacktestPanel } from "./backtest.tsx";
import { resolveChartStyle } from "./chart-style.ts";
import { OwnRuleTools } from "./rule-form.tsx";
import { matchersFor, pendingSilence } from "./silence-dialog.tsx";
import { parseThreshold } from "./threshold.ts";

export function RuleDetail({ rule, group }: { rule: ApiRule; group: ApiRuleGroup }) {
  const { name, query, annotations = {}, labels, alerts } = rule;
  useTitle(name);
  const compared = parseThreshold(query);
  const look = resolveChartStyle(compared.left);
  const level = levelOf(labels["severity"]) === "bad" ? "bad" : "warn";
  // A template is not readable before it is filled in.
  const meaning = [alerts?.[0]?.annotations ?? {}, annotations]
    .flatMap((texts) => [texts["description"], texts["summary"]])
    .find((text) => text !== undefined && !text.includes("{{"));
  const limits =
    compared.level === undefined
      ? []
      : [
          {
            label: `${compared.op ?? ""} ${formatReadable(compared.level, look.unit)}`,
            value: compared.level,
            level,
          } as const,
        ];
  return (
    <section class="rule-detail" aria-label={name}>
      <header>
        <h2 class="page-title">{name}</h2>
        <span class="unit">
          group {group.name}, every {formatAge(group.interval * 1_000)}
        </span>
        <span class="spacer" />
        <button
          type="button"
          class="quiet changes"
          onClick={() => {
            pendingSilence.value = { title: name, matchers: matchersFor({ alertname: name }) };
          }}
        >
          Silence rule
        </button>
        {isPageRule(group) && <OwnRuleTools rule={rule} />}
        <a class="quiet" href={hrefOf("explore", { expr: query })}>
          Explore
        </a>
        <a class="quiet" href={hrefOf("alerts", { tab: "rules" })} aria-label="Close the rule">
          Close
        </a>
      </header>
      {rule.lastError !== undefined && (
        <Banner level="warn" title="The rule fails.">
          {rule.lastError}
        </Banner>
      )}
      {[...(rule.warnings ?? []), ...(rule.infos ?? [])].map((text) => (
        <p key={text} class={text.startsWith("PromQL info") ? "unit" : "warn"}>
          {text}
        </p>
      ))}
      {meaning !== undefined && <p class="unit">{meaning}</p>}
      <pre class="expr">{query}</pre>
      <QueryChart
        title={
          compared.op === undefined
            ? name
            : `${name}: fires when ${compared.op === "==" ? "equal to" : compared.op.startsWith(">") ? "above" : compared.op.startsWith("<") ? "below" : "not"} the dashed line`
        }
        {...look}
        colourBy="gpu"
        limits={limits}
        queries={[
          { query: compared.left, label: named },
          ...(compared.right === undefined
            ? []
            : [
                {
                  query: compared.right,
                  label: (one: LabelMap) => `limit ${named(one)}`,
                  dashed: true,
                },
              ]),
        ]}
        empty="The expression returned no samples in this range."
        events={(one) => one["alertname"] === undefined || one["alertname"] === name}
      />
      {alerts !== undefined && alerts !== null && alerts.length > 0 && (
        <ul class="alerts">
          {alerts.map((alert) => (
            <li
              key={JSON.stringify(alert.labels)}
              data-level={alert.state === "firing" ? level : undefined}
            >
              <p class="what">
                <span class="word">{alert.state}</span>
                <strong>{formatReadable(Number(alert.value), look.unit)}</strong>
              </p>
              <p class="since">for {formatAge(hubTimeMs() - Date.parse(alert.activeAt))}</p>
              <div class="more">
                <Labels labels={alert.labels} without={["alertname", "severity"]} />
              </div>
            </li>
          ))}
        </ul>
      )}
      <BacktestPanel key={`${group.name} ${name}`} asked={{ rule: name, group: group.name }} />
    </section>
  );
}

/** `host #0` for a GPU; the labels otherwise. */
function named(labels: LabelMap): string {
  const { host, gpu, uuid, ...rest } = labels;
  const { __name__, job, instance, ...others } = rest;
  const parts = Object.values(others);
  const place = gpu === undefined ? (host ?? instance ?? job ?? uuid) : `${host ?? ""} #${gpu}`;
  return (
    [place, ...parts].filter((part) => part !== undefined && part !== "").join(" ") ||
    (__name__ ?? "value")
  );
}
