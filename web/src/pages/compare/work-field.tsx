/** The query of the work done, which performance per watt needs. */
import { work } from "./view.ts";

export function WorkField({ error }: { error: string | undefined }) {
  return (
    <form
      class="compare-work"
      onSubmit={(event) => {
        event.preventDefault();
        const text = new FormData(event.currentTarget).get("work");
        work.value = typeof text === "string" ? text.trim() : "";
      }}
    >
      <label>
        <span
          class="unit"
          data-tip="PromQL that gives work per second with a uuid label (or host, for hosts). Without it the simulator's work counter is used if there is one. Utilisation does not measure work."
        >
          Work per second
        </span>
        <input
          class="input"
          name="work"
          spellcheck={false}
          placeholder="rate(my_tokens_total[1m])"
          defaultValue={work.value}
          key={work.value}
        />
      </label>
      <button type="submit" class="quiet">
        Use
      </button>
      {error !== undefined && (
        <p class="bad" role="alert">
          {error}
        </p>
      )}
    </form>
  );
}
