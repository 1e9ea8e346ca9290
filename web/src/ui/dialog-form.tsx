/** What the forms in dialogs share: a named line of text, and the end with the problem, the action and a way out. */
import type { ComponentChildren } from "preact";

export interface TextFieldProps {
  readonly autocomplete?: "off" | "name";
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function TextField({ id, label, value, onChange, ...input }: TextFieldProps) {
  return (
    <div class="field">
      <label class="name-of" for={id}>
        {label}
      </label>
      <input
        {...input}
        id={id}
        type="text"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

export interface FormEndProps {
  /** What the hub or the check said against it. */
  readonly problem: string | undefined;
  readonly submit: string;
  readonly disabled?: boolean;
  readonly onCancel: () => void;
  /** Between the problem and the buttons. */
  readonly children?: ComponentChildren;
}

export function FormEnd({ problem, submit, disabled = false, onCancel, children }: FormEndProps) {
  return (
    <>
      {problem !== undefined && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      {children}
      <div class="row">
        <button type="submit" class="primary" disabled={disabled}>
          {submit}
        </button>
        <button type="button" class="quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </>
  );
}
