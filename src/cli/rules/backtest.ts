/** Runs `gpulse rules backtest`: queries the history of a hub, or any Prometheus, and evaluates the rule over it locally. */
import * as v from "valibot";
import {
  backtest,
  type BacktestResult,
  maxSteps,
  type RangeQuerySource,
} from "../../alerting/backtest/backtest.ts";
import { readRuleFile } from "../../alerting/rules/file.ts";
import type { AlertingRule } from "../../alerting/rules/types.ts";
import { clientAccess, type ClientFlags, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError } from "../../base/error.ts";
import { labelSet } from "../../model/labels.ts";
import type { MatrixSeries } from "../../query/result.ts";
import { HubClient, type NoteAnnotations } from "../hub-client.ts";
import { type HubQueryResponse, queryResponseSchema } from "../query/run.ts";
import { backtestJson, formatBacktests } from "./show-backtest.ts";

export interface BacktestFlags extends ClientFlags {
  readonly rule?: string;
  readonly since?: string;
  readonly step?: string;
  readonly url?: string;
  readonly json?: boolean;
}

export interface RuleBacktest {
  readonly rule: AlertingRule;
  readonly group: string;
  readonly result: BacktestResult;
}

const defaultStepMs = 15_000;

export async function runRulesBacktest(
  file: string,
  flags: BacktestFlags,
  io: CommandIo,
): Promise<number> {
  const rules = await chosenRules(file, flags.rule);
  const sinceMs = duration("--since", flags.since) ?? 86_400_000;
  const ownStepMs = duration("--step", flags.step);
  const client = new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));
  const past = remotePast(client, (_kind, texts) => io.stderr.write(`${texts.join("\n")}\n`));
  const endMs = Date.now();
  const done: RuleBacktest[] = [];
  for (const [index, { rule, group, intervalMs }] of rules.entries()) {
    const stepMs = ownStepMs ?? fittingStepMs(intervalMs ?? defaultStepMs, sinceMs);
    if (sinceMs / stepMs > maxSteps)
      throw new GpulseError(
        "USAGE",
        `--step ${flags.step ?? ""} gives more than ${maxSteps.toLocaleString("en-US")} steps: take a longer one, or a shorter --since.`,
      );
    const result = await backtest(rule, past, {
      startMs: endMs - sinceMs,
      endMs,
      stepMs,
      externalLabels: new Map(),
      externalUrl: "",
      progress: progressOf(io, rule.name, index, rules.length),
    });
    done.push({ rule, group, result });
  }
  io.stdout.write(
    flags.json === true
      ? `${JSON.stringify(backtestJson(done), null, 2)}\n`
      : formatBacktests(done),
  );
  return 0;
}

/** The rule's evaluation interval, or a longer step if the range is too long for it. */
function fittingStepMs(intervalMs: number, rangeMs: number): number {
  return Math.max(intervalMs, Math.ceil(rangeMs / maxSteps / 1_000) * 1_000);
}

async function chosenRules(
  file: string,
  name: string | undefined,
): Promise<{ rule: AlertingRule; group: string; intervalMs: number | undefined }[]> {
  const groups = await readRuleFile(file);
  const all = groups.flatMap(({ name: group, rules, intervalMs }) =>
    rules.flatMap((rule) => (rule.kind === "alert" ? [{ rule, group, intervalMs }] : [])),
  );
  const chosen = all.filter(({ rule }) => name === undefined || rule.name === name);
  if (chosen.length > 0) return chosen;
  throw new GpulseError(
    "USAGE",
    all.length === 0
      ? `${file} has no alerting rule.`
      : `${file} has no alert named "${name ?? ""}": there is ${all.map(({ rule }) => rule.name).join(", ")}.`,
  );
}

function remotePast(client: HubClient, note: NoteAnnotations): RangeQuerySource {
  return {
    async range(query, startMs, endMs, stepMs) {
      const answer = checked(
        await client.ask(
          "/api/v1/query_range",
          {
            query,
            start: String(startMs / 1_000),
            end: String(endMs / 1_000),
            step: String(stepMs / 1_000),
          },
          note,
        ),
      );
      return answer.resultType === "matrix" ? answer.result.map(seriesOf) : [];
    },
    async ask(query, timeMs) {
      const time = String(timeMs / 1_000);
      const answer = checked(await client.ask("/api/v1/query", { query, time }, note));
      if (answer.resultType === "scalar")
        return [{ labels: new Map(), value: Number(answer.result[1]) }];
      if (answer.resultType !== "vector") return [];
      return answer.result.flatMap((one) =>
        "value" in one
          ? [{ labels: new Map(Object.entries(one.metric)), value: numberOf(one.value[1]) }]
          : [],
      );
    },
  };
}

function seriesOf({
  metric,
  values,
}: Extract<HubQueryResponse, { resultType: "matrix" }>["result"][number]): MatrixSeries {
  return {
    labels: labelSet(metric),
    times: Float64Array.from(values, ([seconds]) => Math.round(seconds * 1_000)),
    values: Float64Array.from(values, ([, value]) => numberOf(value)),
  };
}

function numberOf(text: string): number {
  if (text === "+Inf") return Infinity;
  return text === "-Inf" ? -Infinity : Number(text);
}

function checked(data: unknown): HubQueryResponse {
  const answer = v.safeParse(queryResponseSchema, data);
  if (answer.success) return answer.output;
  throw new GpulseError(
    "QUERY_FAILED",
    "The response is not that of a gpulse hub. Check --url, or update the hub.",
  );
}

function duration(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const ms = parseDurationMs(given);
  if (ms === undefined || !(ms >= 1_000))
    throw new GpulseError("USAGE", `${flag} must be a duration such as 15s or 7d, not "${given}".`);
  return ms;
}

/** Shows progress on a terminal, and only if the backtest takes a while. */
function progressOf(
  io: CommandIo,
  name: string,
  index: number,
  count: number,
): (share: number) => void {
  const began = Date.now();
  return (share) => {
    if (io.stderr.isTTY !== true || Date.now() - began < 1_000) return;
    const percent = Math.round(share * 100);
    io.stderr.write(
      share >= 1 ? "\r\u001b[K" : `\r\u001b[Krule ${index + 1} of ${count}, ${name}: ${percent} %`,
    );
  };
}
