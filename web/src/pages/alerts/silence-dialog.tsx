/** The silence dialog: the alert's labels are filled in and a duration is selected, so that Enter creates the silence. */
import { signal } from "@preact/signals";
import { useId, useState } from "preact/hooks";
import { hubTimeMs } from "../../live/feed.ts";
import { ApiError, send } from "../../query/http.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { FormEnd, TextField } from "../../ui/dialog-form.tsx";
import { toast } from "../../ui/toast.ts";
import { formatInstant } from "../../view-state/range.ts";
import { readStoredText, writeStoredText } from "../../view-state/preferences.ts";
import type { LabelMap } from "./api.ts";

export interface MatcherInput {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  /** False for a label that is omitted from the silence and can be added. */
  readonly on: boolean;
}

export interface PendingSilence {
  readonly title: string;
  readonly matchers: readonly MatcherInput[];
}

/** The silence in the dialog; undefined if the dialog is closed. */
export const pendingSilence = signal<PendingSilence | undefined>(undefined);

const HOUR = 3_600_000;
const lengths = [
  { label: "1 hour", ms: HOUR },
  { label: "4 hours", ms: 4 * HOUR },
  { label: "1 day", ms: 24 * HOUR },
  { label: "1 week", ms: 168 * HOUR },
] as const;
/** Labels about the origin of an alert, which may change while it stays the same alert; not preselected. */
const incidental = new Set(["severity", "job", "instance", "receiver"]);

export const matchersFor = (labels: LabelMap): readonly MatcherInput[] =>
  Object.entries(labels).map(([name, value]) => ({
    name,
    value,
    isRegex: false,
    on: !incidental.has(name),
  }));

export function SilenceDialog({ onDone }: { onDone: () => void }) {
  const draft = pendingSilence.value;
  const close = (): void => {
    pendingSilence.value = undefined;
  };
  return (
    <Dialog class="silence" label="Silence" open={draft !== undefined} onClose={close}>
      {draft !== undefined && <Form draft={draft} close={close} onDone={onDone} />}
    </Dialog>
  );
}

function Form({
  draft,
  close,
  onDone,
}: {
  draft: PendingSilence;
  close: () => void;
  onDone: () => void;
}) {
  const [matchers, setMatchers] = useState(draft.matchers);
  const [ms, setMs] = useState<number>(lengths[1].ms);
  const [comment, setComment] = useState("");
  const [by, setBy] = useState(readStoredText("gpulse.name") ?? "");
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const id = useId();
  const change = (at: number, next: Partial<MatcherInput>): void =>
    setMatchers(matchers.map((one, place) => (place === at ? { ...one, ...next } : one)));
  const submit = async (): Promise<void> => {
    const chosen = matchers.filter(({ on, name }) => on && name !== "");
    if (chosen.length === 0)
      return setProblem("Choose at least one label: a silence without any would cover everything.");
    setBusy(true);
    const nowMs = hubTimeMs();
    try {
      await send("POST", "api/v2/silences", {
        matchers: chosen.map(({ name, value, isRegex }) => ({
          name,
          value,
          isRegex,
          isEqual: true,
        })),
        startsAt: new Date(nowMs).toISOString(),
        endsAt: new Date(nowMs + ms).toISOString(),
        createdBy: by.trim() === "" ? "page" : by.trim(),
        comment: comment.trim() === "" ? `silenced ${draft.title} from the page` : comment.trim(),
      });
      writeStoredText("gpulse.name", by.trim());
      toast(`${draft.title} is silenced until ${formatInstant(nowMs + ms).slice(0, 16)}.`);
      close();
      return onDone();
    } catch (thrown) {
      setBusy(false);
      return setProblem(thrown instanceof ApiError ? thrown.message : String(thrown));
    }
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <h2>Silence {draft.title}</h2>
      <fieldset class="field">
        <legend class="name-of">Alerts with these labels</legend>
        {matchers.map(({ name, value, isRegex, on }, at) => (
          <div class="matcher" key={name} data-off={on ? undefined : ""}>
            <label class="check">
              <input
                type="checkbox"
                checked={on}
                onChange={(event) => change(at, { on: event.currentTarget.checked })}
              />
              <code>{name}</code>
            </label>
            <input
              class="input"
              type="text"
              aria-label={`Value of ${name}`}
              value={value}
              disabled={!on}
              onInput={(event) => change(at, { value: event.currentTarget.value })}
            />
            <label class="check" data-tip="The value is a regular expression.">
              <input
                type="checkbox"
                aria-label={`${name} is a regular expression`}
                checked={isRegex}
                disabled={!on}
                onChange={(event) => change(at, { isRegex: event.currentTarget.checked })}
              />
              <span aria-hidden="true">.*</span>
            </label>
          </div>
        ))}
      </fieldset>
      <fieldset class="field">
        <legend class="name-of">For</legend>
        <div class="choice">
          {lengths.map((length) => (
            <button
              key={length.label}
              type="button"
              aria-pressed={ms === length.ms}
              onClick={() => setMs(length.ms)}
            >
              {length.label}
            </button>
          ))}
        </div>
        <span class="unit">until {formatInstant(hubTimeMs() + ms).slice(0, 16)}</span>
      </fieldset>
      <TextField
        id={`${id}c`}
        label="Comment"
        autocomplete="off"
        placeholder="reason for this silence"
        value={comment}
        onChange={setComment}
      />
      <TextField
        id={`${id}b`}
        label="Your name"
        autocomplete="name"
        placeholder="page"
        value={by}
        onChange={setBy}
      />
      <FormEnd problem={problem} submit="Silence" disabled={busy} onCancel={close} />
    </form>
  );
}
