/** Common parts of the forms in dialogs: a labelled text field, and a footer with the error, the action and Cancel. */
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
  /** The error of the hub or of the validation. */
  readonly problem: string | undefined;
  readonly submit: string;
  readonly disabled?: boolean;
  readonly onCancel: () => void;
  /** Between the error and the buttons. */
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
