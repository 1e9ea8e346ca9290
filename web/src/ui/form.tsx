/**
 * A form generated from a JSON Schema: labels, help, defaults and validation come from the schema, so that a new setting needs no
 * code here.
 */
import { useId, useState } from "preact/hooks";
import {
  fieldsOf,
  formatFieldValue,
  type FormValue,
  parseField,
  type Schema,
  type SchemaField,
} from "./form-fields.ts";

export interface SchemaFormProps {
  readonly schema: Schema;
  readonly value?: FormValue;
  readonly submit: string;
  /** Returns the hub's error message; undefined on success. */
  readonly onSubmit: (value: FormValue) => Promise<string | undefined> | string | undefined;
  readonly onCancel?: () => void;
}

export function SchemaForm({ schema, value = {}, submit, onSubmit, onCancel }: SchemaFormProps) {
  const fields = fieldsOf(schema);
  const [draft, setDraft] = useState<FormValue>(() => withDefaults(fields, value));
  const [wrong, setWrong] = useState<ReadonlyMap<string, string>>(new Map());
  const [refused, setRefused] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const send = async (form: HTMLFormElement): Promise<void> => {
    if (wrong.size > 0) return form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    const missing = missingIn(fields, draft, "");
    setWrong(missing);
    if (missing.size > 0) return undefined;
    setBusy(true);
    try {
      setRefused(await onSubmit(draft));
    } catch (thrown) {
      setRefused(thrown instanceof Error ? thrown.message : String(thrown));
    }
    return setBusy(false);
  };
  return (
    <form
      class="schema-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send(event.currentTarget);
      }}
    >
      <Fields {...{ fields, wrong }} path="" value={draft} onChange={setDraft} onWrong={setWrong} />
      {refused !== undefined && (
        <p class="bad" role="alert">
          {refused}
        </p>
      )}
      <div class="row">
        <button type="submit" class="primary" disabled={busy}>
          {submit}
        </button>
        {onCancel !== undefined && (
          <button type="button" class="quiet" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}

interface FieldsProps {
  readonly fields: readonly SchemaField[];
  readonly path: string;
  readonly value: FormValue;
  readonly wrong: ReadonlyMap<string, string>;
  readonly onChange: (value: FormValue) => void;
  readonly onWrong: (wrong: ReadonlyMap<string, string>) => void;
}

function Fields({ fields, path, value, wrong, onChange, onWrong }: FieldsProps) {
  return fields.map((field) => {
    const at = `${path}/${field.name}`;
    const set = (next: unknown): void => onChange(changed(value, field.name, next));
    if (field.kind === "object") {
      const inner = value[field.name];
      return (
        <fieldset class="field" key={at}>
          <legend class="name-of">{field.label}</legend>
          <div class="inner">
            <Fields
              {...{ fields: field.fields, wrong, onWrong }}
              path={at}
              value={isObject(inner) ? inner : {}}
              onChange={set}
            />
          </div>
        </fieldset>
      );
    }
    return (
      <Input
        key={at}
        {...{ field, value: value[field.name] }}
        wrong={wrong.get(at)}
        onInput={(text) => {
          const typed = parseField(field, text);
          const next = new Map(wrong);
          if ("wrong" in typed) next.set(at, typed.wrong);
          else next.delete(at);
          onWrong(next);
          if ("value" in typed) set(typed.value);
        }}
        onSwitch={set}
      />
    );
  });
}

interface InputProps {
  readonly field: SchemaField;
  readonly value: unknown;
  readonly wrong: string | undefined;
  readonly onInput: (text: string) => void;
  readonly onSwitch: (on: boolean) => void;
}

function Input({ field, value, wrong, onInput, onSwitch }: InputProps) {
  const id = useId();
  const [text, setText] = useState(() => formatFieldValue(field, value));
  const { kind, label, required, schema, choices } = field;
  const about = {
    id,
    "aria-invalid": wrong !== undefined,
    "aria-describedby": `${id}h`,
    "aria-required": required,
  };
  const typed = (next: string): void => {
    setText(next);
    onInput(next);
  };
  return (
    <div class="field">
      {kind === "switch" ? (
        <label class="check">
          <input
            {...about}
            type="checkbox"
            checked={value === true}
            onChange={(event) => onSwitch(event.currentTarget.checked)}
          />
          {label}
        </label>
      ) : (
        <label class="name-of" for={id}>
          {label} {required && <span class="required">required</span>}
        </label>
      )}
      {kind === "choice" && (
        <select {...about} value={text} onChange={(event) => typed(event.currentTarget.value)}>
          {!required && <option value="" />}
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
      {(kind === "lines" || kind === "json") && (
        <textarea {...about} value={text} onInput={(event) => typed(event.currentTarget.value)} />
      )}
      {kind === "secret" && (
        <input
          {...about}
          type="password"
          autocomplete="new-password"
          value={text}
          onInput={(event) => typed(event.currentTarget.value)}
        />
      )}
      {(kind === "text" || kind === "number") && (
        <input
          {...about}
          type="text"
          inputMode={kind === "number" ? "decimal" : "text"}
          autocomplete="off"
          placeholder={example(schema)}
          value={text}
          onInput={(event) => typed(event.currentTarget.value)}
        />
      )}
      <span id={`${id}h`} class={wrong === undefined ? "unit" : "bad"}>
        {wrong ?? schema.description ?? (kind === "lines" ? "One per line." : "")}
      </span>
    </div>
  );
}

const example = ({ examples, default: preset }: Schema): string | undefined => {
  const first = preset ?? examples?.[0];
  return typeof first === "string" || typeof first === "number" ? String(first) : undefined;
};

const isObject = (value: unknown): value is FormValue =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function changed(value: FormValue, name: string, next: unknown): FormValue {
  const { [name]: _before, ...rest } = value;
  const empty = next === undefined || (isObject(next) && Object.keys(next).length === 0);
  return empty ? rest : { ...rest, [name]: next };
}

/** A required choice starts with its first option, because the shown value must be the one that is sent. */
function withDefaults(fields: readonly SchemaField[], value: FormValue): FormValue {
  let next = value;
  for (const { name, kind, required, schema, choices } of fields) {
    if (next[name] !== undefined) continue;
    if (kind === "switch" && schema.default === true) next = { ...next, [name]: true };
    if (kind === "choice" && required)
      next = { ...next, [name]: schema.default ?? schema.enum?.[0] ?? choices[0] };
  }
  return next;
}

function missingIn(
  fields: readonly SchemaField[],
  value: FormValue,
  path: string,
): Map<string, string> {
  const missing = new Map<string, string>();
  for (const field of fields) {
    const at = `${path}/${field.name}`;
    const inner = value[field.name];
    if (field.kind === "object") {
      if (field.required || inner !== undefined)
        for (const [where, why] of missingIn(field.fields, isObject(inner) ? inner : {}, at))
          missing.set(where, why);
    } else if (field.required && inner === undefined && field.kind !== "switch")
      missing.set(at, `${field.label} is required.`);
  }
  return missing;
}
