/** Adding a machine takes one command to copy, which contains a new token. */
import { useState } from "preact/hooks";
import { hubAddress } from "../../live/hub-address.ts";
import { ApiError, send } from "../../query/http.ts";
import { CopyText } from "../../ui/copy.tsx";
import type { CreatedToken } from "./api.ts";

export function AddMachine() {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [made, setMade] = useState<CreatedToken | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const make = async (): Promise<void> => {
    setProblem(undefined);
    try {
      const wanted = { name: name.trim(), scope: "push" };
      setMade((await send("POST", "api/tokens", wanted)) as CreatedToken);
    } catch (thrown) {
      setProblem(thrown instanceof ApiError ? thrown.message : String(thrown));
    }
  };
  if (!open)
    return (
      <div class="bar-line">
        <button type="button" class="primary changes" onClick={() => setOpen(true)}>
          Add a machine
        </button>
      </div>
    );
  const { url, loopback } = hubAddress();
  return (
    <section class="panel" aria-label="Add a machine">
      <form
        class="bar-line"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <label for="machine">Name of the machine</label>
        <input
          id="machine"
          class="input"
          type="text"
          autocomplete="off"
          placeholder="node-7"
          value={name}
          onInput={(event) => {
            setName(event.currentTarget.value);
            setMade(undefined);
          }}
        />
        <button type="submit" class="primary" disabled={name.trim() === "" || made !== undefined}>
          Create token
        </button>
        <button type="button" class="quiet" onClick={() => setOpen(false)}>
          Close
        </button>
      </form>
      {problem !== undefined && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      {made !== undefined && (
        <div role="status">
          <p>Run this on {made.name}. The token is shown this one time, and may only push.</p>
          <CopyText
            label="the line that adds the machine"
            text={`npx gpulse agent --push ${url} --token ${made.token}`}
          />
          {loopback && (
            <p class="warn">
              This hub listens on loopback, so other machines cannot reach it yet: start it with{" "}
              <code>--host 0.0.0.0</code> and TLS, or behind a proxy.
            </p>
          )}
        </div>
      )}
    </section>
  );
}
