/** The form for a rule of the page, new or edited: a chart with a movable threshold, duration, severity, receiver, and a backtest. */
import { useEffect, useId, useState } from "preact/hooks";
import { QueryChart } from "../../chart/query-chart.tsx";
import { parseDurationMs } from "../../../../src/config/duration.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { send } from "../../query/http.ts";
import { differingLabelNames, labelText } from "../../query/label-text.ts";
import { useInstant, useJson } from "../../query/use-fetch.ts";
import { attempt } from "../../ui/attempt.ts";
import { toast } from "../../ui/toast.ts";
import { goTo, hrefOf } from "../../view-state/address.ts";
import { optional, Param } from "../../view-state/param.ts";
import { timeWindow } from "../../view-state/time.ts";
import type { ApiRule } from "./api.ts";
import { BacktestPanel } from "./backtest.tsx";
import { resolveChartStyle } from "./chart-style.ts";
import { ReceiverTests } from "./receiver-tests.tsx";
import { parseThreshold } from "./threshold.ts";

/** The expression of the new rule, with or without its threshold. */
export const newRule = new Param("new", optional, "push");
/** The name of the page rule that is edited. */
export const editedRule = new Param("edit", optional, "push");

const SETTLE_MS = 600;
const durations = ["0s", "1m", "5m", "15m", "30m", "1h", "6h"] as const;
const severities = ["critical", "warning", "info"] as const;

interface RuleDraft {
  readonly name: string;
  readonly expr: string;
  readonly op: ">" | "<";
  readonly level: number | undefined;
  readonly for: string;
  readonly severity: string;
  readonly summary: string;
}

export interface RuleFormProps {
  /** A new rule by its expression, or the page rule that is edited. */
  readonly from: string | ApiRule;
  readonly onSaved: () => void;
}

export function RuleForm({ from, onSaved }: RuleFormProps) {
  const isNew = typeof from === "string";
  const [draft, setDraft] = useState<RuleDraft>(() => (isNew ? newDraft(from) : draftOf(from)));
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const asked = useSettled(draft.expr);
  const suggested = useSuggestion(asked);
  const level = draft.level ?? suggested;
  const [drawnLevel, setDrawnLevel] = useState<number | undefined>(draft.level);
  const ruleOf = (left: string): string => ruleText(left, draft.op, level ?? 0);
  const save = async (): Promise<void> => {
    setProblem(undefined);
    try {
      const { version } = (await send("PUT", "api/rules/own", {
        name: draft.name.trim(),
        expr: ruleOf(draft.expr),
        for: draft.for,
        severity: draft.severity,
        summary: draft.summary.trim(),
        isNew,
      })) as { readonly version: number };
      toast(
        `${draft.name.trim()} is saved in version ${version} of the page rules, and evaluated from now on.`,
      );
      onSaved();
      goTo("alerts", { tab: "rules", rule: draft.name.trim(), group: "page" });
    } catch (thrown) {
      setProblem(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  const move = (value: number, done: boolean): void => {
    setDraft({ ...draft, level: value });
    if (done) setDrawnLevel(value);
  };
  const style = resolveChartStyle(asked);
  return (
    <section class="rule-detail" aria-label={isNew ? "New rule" : `Edit ${draft.name}`}>
      <header>
        <h2 class="page-title">{isNew ? "New rule" : draft.name}</h2>
        <span class="spacer" />
        <a class="quiet" href={hrefOf("alerts", { tab: "rules" })}>
          Cancel
        </a>
      </header>
      <div class="rule-maker">
        <div>
          <QueryChart
            key={asked}
            title={`Fires ${draft.op === ">" ? "above" : "below"} the line`}
            {...style}
            colourBy="line"
            heightPx={260}
            queries={[
              {
                query: asked,
                label: (labels, all) => labelText(labels, differingLabelNames(all)),
              },
            ]}
            // Keeps the line inside the axis, which is fixed while the line is dragged.
            limits={
              (drawnLevel ?? suggested) === undefined
                ? []
                : [{ label: "threshold", value: drawnLevel ?? suggested ?? 0, level: "note" }]
            }
            {...(level === undefined
              ? {}
              : { threshold: { value: level, label: "Threshold", onMove: move } })}
          />
          {level !== undefined && (
            <BacktestPanel asked={{ expr: ruleOf(asked), for: draft.for }} isLive />
          )}
        </div>
        <RuleFields {...{ draft, level, problem, isNew }} onChange={setDraft} onSave={save} />
      </div>
    </section>
  );
}

interface RuleFieldsProps {
  readonly draft: RuleDraft;
  readonly level: number | undefined;
  readonly problem: string | undefined;
  readonly isNew: boolean;
  readonly onChange: (draft: RuleDraft) => void;
  readonly onSave: () => Promise<void>;
}

function RuleFields({ draft, level, problem, isNew, onChange, onSave }: RuleFieldsProps) {
  const id = useId();
  // Keeps the typed text while it is edited, instead of the number parsed from it so far.
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const text = (key: "name" | "expr" | "summary", label: string, placeholder: string) => (
    <div class="field">
      <label class="name-of" for={`${id}${key}`}>
        {label}
      </label>
      <input
        id={`${id}${key}`}
        type="text"
        autocomplete="off"
        placeholder={placeholder}
        value={draft[key]}
        onInput={(event) => onChange({ ...draft, [key]: event.currentTarget.value })}
      />
    </div>
  );
  const choice = (key: "for" | "severity" | "op", label: string, words: readonly string[]) => (
    <div class="field">
      <label class="name-of" for={`${id}${key}`}>
        {label}
      </label>
      <select
        id={`${id}${key}`}
        value={draft[key]}
        onChange={(event) => onChange({ ...draft, [key]: event.currentTarget.value })}
      >
        {words.map((word) => (
          <option key={word} value={word}>
            {{ "0s": "at once", ">": "above", "<": "below" }[word] ?? word}
          </option>
        ))}
      </select>
    </div>
  );
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void onSave();
      }}
    >
      {isNew && text("name", "Name", "HotGpu")}
      {text("expr", "Expression", "gpu_power_watts")}
      <div class="rule-line">
        {choice("op", "Fires", [">", "<"])}
        <div class="field">
          <label class="name-of" for={`${id}level`}>
            Threshold
          </label>
          <input
            id={`${id}level`}
            type="text"
            inputMode="decimal"
            value={typed ?? (level === undefined ? "" : String(level))}
            onInput={({ currentTarget: { value } }) => {
              setTyped(value);
              const number = Number(value);
              if (value.trim() !== "" && Number.isFinite(number))
                onChange({ ...draft, level: number });
            }}
            onBlur={() => setTyped(undefined)}
          />
        </div>
        {choice("for", "For", [...new Set([...durations, draft.for])])}
        {choice("severity", "Severity", severities)}
      </div>
      {text("summary", "Message", "GPU {{ $labels.gpu }} on {{ $labels.host }} is hot")}
      <Destination name={draft.name} severity={draft.severity} />
      {problem !== undefined && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      <div class="row">
        <button type="submit" class="primary" disabled={level === undefined}>
          Save rule
        </button>
      </div>
      <ReceiverTests />
    </form>
  );
}

/** The receiver that the hub's routing would select. */
function Destination({ name, severity }: { name: string; severity: string }) {
  const query = new URLSearchParams({ alertname: name, severity });
  const { value } = useJson<{
    readonly receivers: readonly string[] | null;
    readonly alertmanagers: readonly string[];
  }>(`api/rules/receivers?${query.toString()}`);
  if (value === undefined) return null;
  const { receivers, alertmanagers } = value;
  return (
    <p class="unit">
      Goes to{" "}
      {receivers === null
        ? alertmanagers.join(", ") || "no Alertmanager"
        : receivers.length === 0
          ? "nobody"
          : `receiver ${receivers.join(", ")}`}
      . Routes and receivers are in alertmanager.yml.
    </p>
  );
}

/** Returns the text after a pause in typing: half an expression would be an error. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** Suggests a threshold a tenth above the highest current value. */
function useSuggestion(expr: string): number | undefined {
  const [atMs] = useState(timeWindow.peek().toMs);
  const { value } = useInstant(expr === "" ? "0" : expr, atMs);
  const values = (value?.samples ?? []).map((one) => one.value).filter(Number.isFinite);
  return values.length === 0 ? undefined : Number((Math.max(...values) * 1.1).toPrecision(2));
}

const ruleText = (left: string, op: string, level: number): string =>
  `${needsBrackets(left) ? `(${left})` : left} ${op} ${level}`;

function newDraft(expr: string): RuleDraft {
  const { left, op, level } = parseThreshold(expr);
  return {
    name: "",
    expr: level === undefined ? expr : left,
    op: op?.startsWith("<") === true ? "<" : ">",
    level,
    for: "5m",
    severity: "warning",
    summary: "",
  };
}

const draftOf = ({ name, query, duration = 0, labels, annotations = {} }: ApiRule): RuleDraft => ({
  ...newDraft(query),
  name,
  for: durations.find((one) => parseDurationMs(one) === duration * 1_000) ?? `${duration}s`,
  severity: labels["severity"] ?? "warning",
  summary: annotations["summary"] ?? "",
});

/** False for an expression that the form would change, such as one of two comparisons. */
function isEditable(rule: ApiRule): boolean {
  const { expr, op, level } = draftOf(rule);
  const spaceless = (text: string): string => text.replaceAll(/\s/g, "");
  return level !== undefined && spaceless(ruleText(expr, op, level)) === spaceless(rule.query);
}

const needsBrackets = (expr: string): boolean =>
  /[-+*/%^<>=!]|\b(?:and|or|unless)\b/.test(expr.replaceAll(/"(?:\\.|[^"\\])*"|\{[^}]*\}/g, ""));

/** Edits or deletes a rule that was created on this page. */
export function OwnRuleTools({ rule }: { rule: ApiRule }) {
  const remove = (): void => {
    if (!confirm(`Delete the rule ${rule.name}?`)) return;
    void attempt(
      () => send("DELETE", `api/rules/own/${encodeURIComponent(rule.name)}`),
      () => {
        toast(`${rule.name} is deleted.`);
        goTo("alerts", { tab: "rules" });
      },
    );
  };
  return (
    <>
      {isEditable(rule) && (
        <a
          class="quiet changes"
          href={hrefOf("alerts", { tab: "rules", edit: rule.name })}
          data-tip="Move the threshold, or change the duration, severity or message"
        >
          Edit rule
        </a>
      )}
      <button
        type="button"
        class="quiet changes"
        data-tip={`Made on the page; fires after ${formatAge((rule.duration ?? 0) * 1_000)}`}
        onClick={remove}
      >
        Delete rule
      </button>
    </>
  );
}
