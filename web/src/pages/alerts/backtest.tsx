/** When a rule would have fired in the selected past, as computed by the hub. */
import { useEffect, useState } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { ApiError, getJson } from "../../query/http.ts";
import { Labels } from "../../ui/labels.tsx";
import { useLate } from "../../ui/use-late.ts";
import { formatInstant } from "../../view-state/range.ts";
import { setRange } from "../../view-state/time.ts";
import type { Backtest } from "./api.ts";

const DAY = 86_400_000;
const pasts = [
  { label: "hour", ms: DAY / 24 },
  { label: "day", ms: DAY },
  { label: "week", ms: 7 * DAY },
  { label: "month", ms: 30 * DAY },
] as const;

export interface BacktestPanelProps {
  /** `rule` and `group` of a loaded rule, or `expr` and `for`. */
  readonly asked: Readonly<Record<string, string>>;
  /** Runs at once, and again when `asked` has changed. */
  readonly isLive?: boolean;
}

/** Delay for a threshold that is still being dragged. */
const SETTLE_MS = 600;

export function BacktestPanel({ asked, isLive = false }: BacktestPanelProps) {
  const [pastMs, setPastMs] = useState<number>(DAY);
  const [result, setResult] = useState<Backtest | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const late = useLate(busy);
  const run = async (ms: number): Promise<void> => {
    setPastMs(ms);
    setBusy(true);
    setProblem(undefined);
    const endMs = hubTimeMs();
    const query = new URLSearchParams({
      ...asked,
      start: String((endMs - ms) / 1_000),
      end: String(endMs / 1_000),
    });
    try {
      const answer = (await getJson(`api/rules/backtest?${query.toString()}`)) as {
        readonly data: Backtest;
      };
      setResult(answer.data);
    } catch (thrown) {
      setProblem(thrown instanceof ApiError ? thrown.message : String(thrown));
    }
    setBusy(false);
  };
  const key = JSON.stringify(asked);
  useEffect(() => {
    if (!isLive) return undefined;
    const timer = setTimeout(() => void run(pastMs), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [key, isLive]);
  return (
    <div class="backtest">
      <p class="bar-line">
        <span>Would it have fired in the last</span>
        {pasts.map(({ label, ms }) => (
          <button
            key={label}
            type="button"
            class="quiet"
            aria-pressed={isLive ? pastMs === ms : undefined}
            disabled={busy}
            onClick={() => void run(ms)}
          >
            {label}
          </button>
        ))}
        {late && <span class="unit">running the backtest…</span>}
      </p>
      {problem !== undefined && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      {result !== undefined && <Outcome result={result} />}
    </div>
  );
}

function Outcome({ result: { totals, firings, start, end, stepSeconds } }: { result: Backtest }) {
  const pending =
    totals.pendingOnly === 0
      ? ""
      : ` It was pending ${totals.pendingOnly} ${totals.pendingOnly === 1 ? "time" : "times"} without firing.`;
  return (
    <div role="status">
      <p>
        {totals.firings === 0
          ? "It would not have fired."
          : `It would have fired ${totals.firings} ${totals.firings === 1 ? "time" : "times"}, ${formatAge(totals.firingSeconds * 1_000)} in all, the longest ${formatAge(totals.longestSeconds * 1_000)}.`}
        {pending}{" "}
        <span class="unit">
          {formatInstant(Date.parse(start))} – {formatInstant(Date.parse(end))}, every {stepSeconds}{" "}
          s
        </span>
      </p>
      <ul class="alerts">
        {firings.slice(0, 50).map((firing) => {
          const fromMs = Date.parse(firing.start);
          const toMs = fromMs + firing.durationSeconds * 1_000;
          return (
            <li key={`${firing.start} ${JSON.stringify(firing.labels)}`}>
              <p class="what">
                <button
                  type="button"
                  class="link"
                  data-tip="Show this time in the chart"
                  onClick={() =>
                    setRange({
                      kind: "between",
                      fromMs: fromMs - Math.max(60_000, (toMs - fromMs) / 2),
                      toMs: toMs + Math.max(60_000, (toMs - fromMs) / 2),
                    })
                  }
                >
                  {formatInstant(fromMs)}
                </button>
                <span>
                  {firing.end === undefined ? "still fires" : `for ${formatAge(toMs - fromMs)}`}
                </span>
                {firing.peak !== null && (
                  <span class="unit">worst {Number(firing.peak.toPrecision(5))}</span>
                )}
              </p>
              <div class="more">
                <Labels labels={firing.labels} without={["alertname", "severity", "uuid"]} />
              </div>
            </li>
          );
        })}
      </ul>
      {firings.length > 50 && <p class="unit">and {totals.firings - 50} more</p>}
    </div>
  );
}
