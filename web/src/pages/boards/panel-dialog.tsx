/** The form of one panel: title, kind, queries with legends, unit. The hub validates it when the board is saved. */
import { useId, useState } from "preact/hooks";
import {
  boardLimits,
  type BoardPanel,
  panelKinds,
  type PanelKind,
  type PanelQuery,
} from "../../../../src/view/board/board.ts";
import { type Unit, units } from "../../../../src/model/catalogue/entry.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { FormEnd, TextField } from "../../ui/dialog-form.tsx";

const kindLabels: Readonly<Record<PanelKind, string>> = {
  timeseries: "Time series",
  stat: "Numbers",
  gauge: "Gauge",
  table: "Table",
  heatmap: "Heatmap",
};

export interface PanelDialogProps {
  readonly panel: BoardPanel | undefined;
  readonly onClose: () => void;
  readonly onDone: (panel: BoardPanel) => void;
}

export function PanelDialog({ panel, onClose, onDone }: PanelDialogProps) {
  return (
    <Dialog label="Panel" open={panel !== undefined} onClose={onClose}>
      {panel !== undefined && <PanelForm key={panel.id} {...{ panel, onClose, onDone }} />}
    </Dialog>
  );
}

function PanelForm({ panel, onClose, onDone }: PanelDialogProps & { readonly panel: BoardPanel }) {
  const [draft, setDraft] = useState(panel);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const id = useId();
  const setQuery = (at: number, change: Partial<PanelQuery>): void =>
    setDraft({
      ...draft,
      queries: draft.queries.map((one, place) => (place === at ? { ...one, ...change } : one)),
    });
  const done = (): void => {
    const queries = draft.queries.filter(({ query }) => query.trim() !== "");
    if (queries.length === 0) return setProblem("A panel needs a query.");
    return onDone({ ...draft, queries });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        done();
      }}
    >
      <h2>Panel</h2>
      <TextField
        id={`${id}t`}
        label="Title"
        maxLength={boardLimits.titleCharacters}
        value={draft.title}
        onChange={(title) => setDraft({ ...draft, title })}
      />
      <div class="panel-form-line">
        <div class="field">
          <label class="name-of" for={`${id}k`}>
            Kind
          </label>
          <select
            id={`${id}k`}
            value={draft.kind}
            onChange={(event) =>
              setDraft({ ...draft, kind: event.currentTarget.value as PanelKind })
            }
          >
            {panelKinds.map((kind) => (
              <option key={kind} value={kind}>
                {kindLabels[kind]}
              </option>
            ))}
          </select>
        </div>
        <div class="field">
          <label class="name-of" for={`${id}u`}>
            Unit
          </label>
          <select
            id={`${id}u`}
            value={draft.unit ?? ""}
            onChange={({ currentTarget: { value } }) =>
              setDraft({ ...draft, unit: value === "" ? undefined : (value as Unit) })
            }
          >
            <option value="">as the metric</option>
            {units.map((unit) => (
              <option key={unit} value={unit}>
                {unit.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </div>
      </div>
      {draft.queries.map(({ query, legend }, at) => (
        <fieldset class="field" key={at}>
          <legend class="name-of">Query {at + 1}</legend>
          <textarea
            rows={2}
            spellcheck={false}
            maxLength={boardLimits.queryCharacters}
            aria-label={`Query ${at + 1} in PromQL`}
            value={query}
            onInput={(event) => setQuery(at, { query: event.currentTarget.value })}
          />
          <input
            type="text"
            maxLength={boardLimits.titleCharacters}
            aria-label={`Legend of query ${at + 1}`}
            placeholder="legend, such as {{host}} GPU {{gpu}}"
            value={legend ?? ""}
            onInput={({ currentTarget: { value } }) =>
              setQuery(at, { legend: value === "" ? undefined : value })
            }
          />
        </fieldset>
      ))}
      {draft.queries.length < boardLimits.queriesPerPanel && (
        <p>
          <button
            type="button"
            class="quiet"
            onClick={() => setDraft({ ...draft, queries: [...draft.queries, { query: "" }] })}
          >
            Another query
          </button>
        </p>
      )}
      <p class="unit">
        $host, $model and $job are the board's variables; $step, $rate and $range are durations that
        fit the chart.
      </p>
      <FormEnd problem={problem} submit="Done" onCancel={onClose} />
    </form>
  );
}
