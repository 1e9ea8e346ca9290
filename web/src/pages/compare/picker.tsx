/** Selects the subjects: a removable chip each, a field to add more, and the same subject at an earlier time. */
import { useRef, useState } from "preact/hooks";
import { type Gpu, nameOf, uuidPrefix } from "../../../../src/view/gpu.ts";
import { writeDuration } from "../../view-state/range.ts";
import { range, rangeMs, setRange, timeWindow } from "../../view-state/time.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import type { ChosenSubject } from "./chosen-subjects.ts";
import { type CompareSubject, MOST_SUBJECTS, readWhen, type SubjectTime } from "./subject.ts";
import { type RunListing, useRuns } from "./api.ts";
import { add, remove, runs } from "./view.ts";

const DAY = 86_400_000;

export interface PickerProps {
  readonly compared: readonly ChosenSubject[];
  readonly known: readonly Gpu[];
}

export function Picker({ compared, known }: PickerProps) {
  const full = compared.length >= MOST_SUBJECTS;
  const listed = useRuns();
  return (
    <div class="compare-picker" role="group" aria-label="What is compared">
      <ul class="compare-chips">
        {compared.map((one, at) => (
          <li key={one.key}>
            <Swatch compared={one} />
            <span data-tip={one.more}>{one.label}</span>
            {at === 0 && compared.length > 1 && <span class="unit">baseline</span>}
            <button
              type="button"
              class="quiet"
              aria-label={`Remove ${one.label}`}
              onClick={() => remove(one.subject)}
            >
              ×
            </button>
          </li>
        ))}
        <ChosenRuns listed={listed} />
      </ul>
      {!full && <Adder known={known} />}
      <RunAdder listed={listed} />
      {!full && compared.length > 0 && <Earlier compared={compared} />}
      <span class="spacer" />
      {range.value.kind === "last" && compared.length > 0 && (
        <button
          type="button"
          class="quiet"
          data-tip="Freeze the range, so that the link keeps showing the same samples"
          onClick={() => setRange({ kind: "between", ...timeWindow.peek() })}
        >
          Pin this range
        </button>
      )}
    </div>
  );
}

export const Swatch = ({ compared: { colour, subject } }: { compared: ChosenSubject }) => (
  <span
    class="swatch"
    aria-hidden="true"
    data-dashed={subject.when === undefined ? undefined : ""}
    style={{ "--swatch": colour }}
  />
);

function Adder({ known }: { known: readonly Gpu[] }) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  useShortcuts("Compare", [
    { keys: ["c", "/"], says: "add a GPU or host", run: () => field.current?.focus() },
  ]);
  const options = optionsOf(known);
  const take = (given: string): boolean => {
    const found = options.find(({ label }) => label === given);
    if (found === undefined) return false;
    add(found.subject);
    setText("");
    return true;
  };
  const several = text !== "" && matching(options, text).length;
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        const [only] = matching(options, text);
        if (only !== undefined) take(only.label);
      }}
    >
      <label>
        <span class="unseen">Add a GPU or host</span>
        <input
          ref={field}
          class="input"
          list="compare-options"
          placeholder="Add a GPU or host (c)"
          value={text}
          onInput={({ currentTarget: { value } }) => take(value) || setText(value)}
        />
      </label>
      <datalist id="compare-options">
        {options.map(({ label }) => (
          <option key={label} value={label} />
        ))}
      </datalist>
      {several === 0 && (
        <span class="unit" role="status">
          no match
        </span>
      )}
    </form>
  );
}

interface Option {
  readonly label: string;
  readonly subject: CompareSubject;
}

function optionsOf(known: readonly Gpu[]): readonly Option[] {
  const hosts = [...new Set(known.map(({ device }) => device.host))];
  return [
    ...known.map((gpu) => ({
      label: `${nameOf(gpu)} · ${gpu.device.host} · ${uuidPrefix(gpu.device)}`,
      subject: { kind: "gpu" as const, name: gpu.id, when: undefined },
    })),
    ...hosts.map((host) => ({
      label: `host ${host}`,
      subject: { kind: "host" as const, name: host, when: undefined },
    })),
  ];
}

const matching = (options: readonly Option[], text: string): readonly Option[] => {
  const words = text.toLowerCase().split(/\s+/);
  return options.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
};

/** Repeats with one label are one subject: they are added and removed together. */
function labelsOf(listed: readonly RunListing[]): ReadonlyMap<string, readonly string[]> {
  const labels = new Map<string, string[]>();
  for (const { id, label } of listed) labels.set(label, [...(labels.get(label) ?? []), id]);
  return labels;
}

function ChosenRuns({ listed }: { listed: readonly RunListing[] }) {
  const ids = runs.value;
  if (ids.length === 0) return null;
  const known = new Map(listed.map((run) => [run.id, run]));
  const chosen = labelsOf(
    ids.map((id) => known.get(id) ?? { id, label: id, host: "", startedMs: 0 }),
  );
  return (
    <>
      {[...chosen].map(([label, own]) => (
        <li key={label}>
          <span data-tip={own.join(", ")}>{`runs ${label}`}</span>
          <span class="unit">{own.length}</span>
          <button
            type="button"
            class="quiet"
            aria-label={`Remove the runs ${label}`}
            onClick={() => (runs.value = ids.filter((id) => !own.includes(id)))}
          >
            ×
          </button>
        </li>
      ))}
    </>
  );
}

function RunAdder({ listed }: { listed: readonly RunListing[] }) {
  const left = [...labelsOf(listed)].filter(
    ([, own]) => !own.every((id) => runs.value.includes(id)),
  );
  if (left.length === 0) return null;
  return (
    <label>
      <span class="unseen">Add recorded runs</span>
      <select
        class="input"
        value=""
        onChange={(event) => {
          const { value } = event.currentTarget;
          event.currentTarget.value = "";
          const own = left.find(([label]) => label === value)?.[1] ?? [];
          runs.value = [...new Set([...runs.value, ...own])];
        }}
      >
        <option value="">Recorded runs…</option>
        {left.map(([label, own]) => (
          <option key={label} value={label}>
            {`${label} (${own.length})`}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Adds the first subject again at an earlier time. */
function Earlier({ compared }: { compared: readonly ChosenSubject[] }) {
  const [own, setOwn] = useState(false);
  const [first] = compared;
  if (first === undefined) return null;
  const again = (when: SubjectTime | undefined): void => {
    if (when !== undefined) add({ ...first.subject, when });
    setOwn(false);
  };
  const earlier = [rangeMs.value, DAY, 7 * DAY].map((ms) => `-${writeDuration(ms)}`);
  return (
    <>
      <label>
        <span class="unseen">Compare {first.label} with an earlier time</span>
        <select
          class="input"
          value=""
          onChange={(event) => {
            const { value } = event.currentTarget;
            event.currentTarget.value = "";
            if (value === "own") setOwn(true);
            else again(readWhen(value));
          }}
        >
          <option value="">With an earlier time…</option>
          {[...new Set(earlier)].map((text, at) => (
            <option key={text} value={text}>
              {at === 0 ? "the range before" : `${text.slice(1)} earlier`}
            </option>
          ))}
          <option value="own">from another start time…</option>
        </select>
      </label>
      {own && (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            const text = new FormData(event.currentTarget).get("from");
            again(typeof text === "string" ? readWhen(text) : undefined);
          }}
        >
          <label>
            <span class="unseen">Start of the other time</span>
            <input class="input" type="datetime-local" name="from" step="1" required />
          </label>
          <button type="submit" class="quiet">
            Add
          </button>
        </form>
      )}
    </>
  );
}
