/** "Why?": the likely causes behind a GPU, job or alert, with their numbers. Requested when it is opened. */
import { useState } from "preact/hooks";
import type {
  ExplainedCause,
  Explanation,
  SubjectKind,
} from "../../../src/view/explain/explanation.ts";
import {
  formatEvidence,
  formatLookedAt,
  formatSigmas,
  formatSince,
} from "../../../src/view/explain/quantity.ts";
import { useJson } from "../query/use-fetch.ts";
import { runbookHref } from "../format/runbook-link.ts";
import { hrefOf } from "../view-state/address.ts";
import { formatInstant } from "../view-state/range.ts";
import { WithCode } from "./with-code.tsx";
import "./explain.css";

export interface ExplainProps {
  readonly kind: SubjectKind;
  readonly id: string;
  /** The time to explain. If absent, the hub selects it: now, the job's end, or the alert's start. */
  readonly timeMs?: number | undefined;
}

export function Explain({ kind, id, timeMs }: ExplainProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="explain" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Explain</summary>
      {isOpen && <Causes {...{ kind, id, timeMs }} />}
    </details>
  );
}

function Causes({ kind, id, timeMs }: ExplainProps) {
  const query = new URLSearchParams({ [kind]: id });
  if (timeMs !== undefined) query.set("time", String(timeMs / 1_000));
  const { value, error } = useJson<Explanation>(`api/explain?${query.toString()}`);
  if (value === undefined)
    return error === undefined || error.status === 0 ? (
      <p class="waiting">Looking for causes…</p>
    ) : (
      <p class="bad" role="alert">
        {error.message}
      </p>
    );
  const { causes, lookedAt, sentence } = value;
  return (
    <>
      {causes.length === 0 ? (
        <p>{sentence}</p>
      ) : (
        <ol>
          {causes.map((cause) => (
            <Cause key={`${cause.cause} ${cause.summary}`} cause={cause} timeMs={value.timeMs} />
          ))}
        </ol>
      )}
      <p class="unit">
        At {formatInstant(value.timeMs)}. {formatLookedAt(lookedAt)}
      </p>
    </>
  );
}

function Cause({ cause, timeMs }: { cause: ExplainedCause; timeMs: number }) {
  const { title, confidence, summary, sinceMs, isOlder, evidence, runbook } = cause;
  return (
    <li data-cause={cause.cause}>
      <p class="what">
        <strong>{title}</strong> <span class="word">{Math.round(100 * confidence)} % sure</span>{" "}
        <span class="unit" data-tip={formatInstant(sinceMs)}>
          for {isOlder ? "at least " : ""}
          {formatSince(sinceMs, timeMs)}
        </span>
      </p>
      <p>{summary}</p>
      {evidence.length > 0 && (
        <div class="scroll">
          <table aria-label="Evidence">
            <thead>
              <tr>
                <th scope="col">Metric</th>
                <th scope="col">Value</th>
                <th scope="col">Usual</th>
                <th scope="col">Sigmas</th>
              </tr>
            </thead>
            <tbody>
              {evidence.map((one) => (
                <tr key={one.promql}>
                  <td>
                    <a href={hrefOf("explore", { expr: one.promql })} data-tip={one.promql}>
                      {one.metric}
                    </a>
                  </td>
                  <td>{formatEvidence(one.value, one.unit)}</td>
                  <td>{formatEvidence(one.usual, one.unit)}</td>
                  <td>{formatSigmas(one)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p>
        <span class="unit">Fix:</span> <WithCode text={runbook.step} />{" "}
        <a href={runbookHref(runbook.href) ?? runbook.href}>Runbook</a>
      </p>
    </li>
  );
}
