/** Lists what changed in a range: series that moved, strongest first, each with its numbers and a small chart. */
import type { ChangeReport, SeriesChange } from "../../../src/view/changes/report.ts";
import { changesQuestion, type ChangesQuestion } from "../chart/changes-subject.ts";
import { familyOf } from "../query/meaning.ts";
import { useJson } from "../query/use-fetch.ts";
import { Dialog } from "../ui/dialog.tsx";
import { hrefOf } from "../view-state/address.ts";
import { formatInstant, formatRange, writeRange } from "../view-state/range.ts";
import { distanceOf, numbersOf } from "./change-text.ts";
import { SmallChart } from "./small-chart.tsx";
import "./changes.css";

export function ChangesDialog() {
  const asked = changesQuestion.value;
  const close = (): void => {
    changesQuestion.value = undefined;
  };
  return (
    <Dialog class="changes" label="What changed here?" open={asked !== undefined} onClose={close}>
      {asked !== undefined && (
        <>
          <div class="row">
            <h2>What changed here?</h2>
            <span class="spacer" />
            <button type="button" class="quiet" onClick={close}>
              Close
            </button>
          </div>
          <Changes asked={asked} />
        </>
      )}
    </Dialog>
  );
}

function Changes({ asked }: { asked: ChangesQuestion }) {
  const { kind, id, fromMs, toMs } = asked;
  const query = new URLSearchParams({
    [kind]: id,
    from: String(fromMs / 1_000),
    to: String(toMs / 1_000),
  });
  const { value, error } = useJson<ChangeReport>(`api/changes?${query.toString()}`);
  const range = formatRange({ kind: "between", fromMs, toMs });
  if (value === undefined)
    return error === undefined || error.status === 0 ? (
      <p class="waiting" role="status">
        Comparing {range} with the time before…
      </p>
    ) : (
      <p class="bad" role="alert">
        {error.message}
      </p>
    );
  const { subject, sentence, changes, leftOut, lookedAt } = value;
  return (
    <>
      <p class="unit">
        {subject.label}, {range}
      </p>
      <p role="status">{sentence}</p>
      {changes.length > 0 && (
        <>
          <ol class="changes-list">
            {changes.map((change) => (
              <Change
                key={`${change.place} ${change.promql} ${change.kind}`}
                {...{ change, value }}
              />
            ))}
          </ol>
          <p class="unit">
            {leftOut > 0 &&
              `${leftOut} weaker ${leftOut === 1 ? "change is" : "changes are"} not listed. `}
            Line: the series. Band: eight of ten peers. Shaded: the range. Marked below: further
            from its own history than four standard deviations. {lookedAt.series} series of{" "}
            {lookedAt.gpus} {lookedAt.gpus === 1 ? "GPU" : "GPUs"} and {lookedAt.peers} peers were
            looked at.
          </p>
        </>
      )}
    </>
  );
}

function Change({ change, value }: { change: SeriesChange; value: ChangeReport }) {
  const { title, place, relation, promql, sinceMs, metric } = change;
  const range = writeRange({ kind: "between", fromMs: value.historyFromMs, toMs: value.toMs });
  return (
    <li data-metric={metric} data-kind={change.kind} data-family={familyOf(metric)}>
      <div class="change-words">
        <p>
          <a href={hrefOf("explore", { expr: promql, ...range })} data-tip={promql}>
            <strong>{title}</strong>
          </a>{" "}
          <span class="unit">
            {place}
            {relation === "mate" && ", same job"}
          </span>
        </p>
        <p class="change-numbers">{numbersOf(change)}</p>
        <p class="unit">{distanceOf(change)}</p>
        <p class="unit">Since {formatInstant(sinceMs).slice(11)}</p>
      </div>
      <SmallChart {...{ change }} fromMs={value.fromMs} toMs={value.toMs} />
    </li>
  );
}
