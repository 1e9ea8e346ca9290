/** Shows the toasts. */
import { forget, toasts } from "./toast.ts";

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text, level }) => (
        <p key={id} data-level={level}>
          {text}
          <button type="button" aria-label="Dismiss" onClick={() => forget(id)}>
            ×
          </button>
        </p>
      ))}
    </div>
  );
}
