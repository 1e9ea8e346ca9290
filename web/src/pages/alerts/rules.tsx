/** The rules: the alerts and the last evaluation of each; for the selected rule its chart, its alerts, and a backtest. */
import { useState } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { tableSortCodec } from "../../ui/table-sort.ts";
import { hrefOf } from "../../view-state/address.ts";
import { Param, optional } from "../../view-state/param.ts";
import { type ApiRule, type ApiRuleGroup, isPageRule, levelOf, type RulesResponse } from "./api.ts";
import { RuleDetail } from "./rule-detail.tsx";
import { editedRule, newRule, RuleForm } from "./rule-form.tsx";

interface ListedRule extends ApiRule {
  readonly group: ApiRuleGroup;
}

const chosenRule = new Param("rule", optional, "push");
const chosenGroup = new Param("group", optional, "push");
const sort = new Param("sort", tableSortCodec(undefined));
const order = ["firing", "pending", "unknown", "inactive"];

export function Rules() {
  const answer = useJson<RulesResponse>("api/v1/rules", 10_000);
  const [filter, setFilter] = useState("");
  const [recording, setRecording] = useState(false);
  if (answer.error !== undefined && answer.error.status !== 0)
    return (
      <Banner level="bad" title="The rules cannot be read.">
        {answer.error.message}
      </Banner>
    );
  if (answer.value === undefined) return <p class="waiting">Loading…</p>;
  const all: readonly ListedRule[] = answer.value.data.groups.flatMap((group) =>
    group.rules.map((rule) => ({ ...rule, group })),
  );
  const wanted = filter.trim().toLowerCase();
  const shown = all
    .filter(({ type }) => recording || type === "alerting")
    .filter(({ name, query, group }) =>
      `${name} ${group.name} ${query}`.toLowerCase().includes(wanted),
    )
    .sort((one, other) => stateRank(one) - stateRank(other));
  const open = all.find(
    ({ name, group, type }) =>
      name === chosenRule.value &&
      (chosenGroup.value === undefined || group.name === chosenGroup.value) &&
      type === "alerting",
  );
  const edited = all.find((rule) => rule.name === editedRule.value && isPageRule(rule.group));
  const failed = all.filter(({ health }) => health === "err");
  return (
    <>
      {failed.length > 0 && (
        <Banner level="warn" title={`${failed.length} of ${all.length} rules fail.`}>
          {failed[0]?.name}: {failed[0]?.lastError}
        </Banner>
      )}
      {newRule.value !== undefined && (
        <RuleForm key={newRule.value} from={newRule.value} onSaved={answer.again} />
      )}
      {edited !== undefined && <RuleForm key={edited.name} from={edited} onSaved={answer.again} />}
      {open !== undefined && <RuleDetail rule={open} group={open.group} />}
      {chosenRule.value !== undefined && open === undefined && (
        <Banner level="note" title={`There is no rule ${chosenRule.value} here.`}>
          It may come from another program that sends its alerts to this hub.
        </Banner>
      )}
      <div class="bar-line">
        <input
          class="input"
          type="search"
          aria-label="Filter rules"
          placeholder="Filter by name, group or expression"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <span class="spacer" />
        <a class="quiet changes" href={hrefOf("alerts", { tab: "rules", new: "gpu_power_watts" })}>
          New rule
        </a>
        <a class="quiet" href="api/rules/own.yaml" download="gpulse-rules.yml">
          Export page rules
        </a>
        <label class="check">
          <input
            type="checkbox"
            checked={recording}
            onChange={(event) => setRecording(event.currentTarget.checked)}
          />
          recording rules
        </label>
      </div>
      <Table
        caption="Rules with their state"
        class="stacked"
        columns={columns}
        rows={shown}
        rowKey={({ group, name, query, labels }) =>
          `${group.file} ${group.name} ${name} ${query} ${JSON.stringify(labels)}`
        }
        sort={sort}
        rowLevel={({ health, state, labels }) =>
          health === "err" || (state === "firing" && levelOf(labels["severity"]) === "warn")
            ? "warn"
            : state === "firing" && levelOf(labels["severity"]) === "bad"
              ? "bad"
              : undefined
        }
        empty={
          all.length === 0 ? (
            <Empty title="No rule is loaded.">
              The default rules come with <code>gpulse up</code>; others with{" "}
              <code>--rules FILE</code>.
            </Empty>
          ) : (
            "No rule matches the filter."
          )
        }
      />
    </>
  );
}

const stateRank = ({ health, state }: ApiRule): number =>
  health === "err" ? -1 : order.indexOf(state ?? "inactive");

const columns: readonly TableColumn<ListedRule>[] = [
  {
    key: "state",
    label: "State",
    by: stateRank,
    cell: (rule) => <State rule={rule} />,
  },
  {
    key: "name",
    label: "Rule",
    by: ({ name }) => name,
    cell: ({ name, group, type, labels }) =>
      type === "alerting" ? (
        <a href={hrefOf("alerts", { tab: "rules", rule: name, group: group.name })}>
          {name}
          {labels["severity"] !== undefined && <span class="unit"> {labels["severity"]}</span>}
        </a>
      ) : (
        name
      ),
  },
  {
    key: "found",
    label: "Alerts",
    numeric: true,
    by: ({ alerts }) => alerts?.length,
    tip: "Label sets that fire or are pending.",
    cell: ({ alerts, type }) => (type === "alerting" ? (alerts?.length ?? 0) : ""),
  },
  {
    key: "expr",
    label: "Expression",
    by: ({ query }) => query,
    rowTip: ({ query }) => query,
    cell: ({ query }) => <code class="expr">{query}</code>,
  },
  {
    key: "for",
    label: "For",
    numeric: true,
    by: ({ duration }) => duration,
    tip: "How long the expression must be true before the alert fires.",
    cell: ({ duration }) =>
      duration === undefined || duration === 0 ? "at once" : formatAge(duration * 1_000),
  },
  {
    key: "evaluated",
    label: "Evaluated",
    numeric: true,
    by: ({ lastEvaluation }) => lastEvaluation,
    rowTip: ({ evaluationTime, group }) =>
      `Took ${(evaluationTime * 1_000).toFixed(1)} ms; group ${group.name}, every ${formatAge(group.interval * 1_000)}.`,
    cell: ({ lastEvaluation }) =>
      lastEvaluation.startsWith("0001") ? (
        <span class="absent">not yet</span>
      ) : (
        `${formatAge(hubTimeMs() - Date.parse(lastEvaluation))} ago`
      ),
  },
];

function State({ rule: { state, health, lastError, labels, type } }: { rule: ApiRule }) {
  if (health === "err")
    return (
      <span class="word warn" data-tip={lastError}>
        fails
      </span>
    );
  if (type === "recording") return <span class="word">records</span>;
  const level = state === "firing" ? levelOf(labels["severity"]) : "note";
  return <span class={`word ${level === "note" ? "" : level}`}>{state ?? "unknown"}</span>;
}
