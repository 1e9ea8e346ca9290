/** Imports a file or pasted JSON: an exported board, or a Grafana dashboard. Lists unsupported parts before it is added. */
import { useId, useState } from "preact/hooks";
import { type Board, boardLimits } from "../../../../src/view/board/board.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { FormEnd } from "../../ui/dialog-form.tsx";
import { type ImportedBoard, readImport } from "./api.ts";

export interface ImportDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onAdd: (board: Board) => void;
}

export function ImportDialog({ open, onClose, onAdd }: ImportDialogProps) {
  return (
    <Dialog label="Import a board" open={open} onClose={onClose}>
      <ImportForm onClose={onClose} onAdd={onAdd} />
    </Dialog>
  );
}

function ImportForm({ onClose, onAdd }: Omit<ImportDialogProps, "open">) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [result, setResult] = useState<ImportedBoard | undefined>(undefined);
  const id = useId();
  const read = async (given: string): Promise<void> => {
    setResult(undefined);
    setProblem(undefined);
    if (given.length > boardLimits.importBytes)
      return setProblem(`A file has at most ${boardLimits.importBytes / 2 ** 20} MiB.`);
    try {
      return setResult(await readImport(given));
    } catch (thrown) {
      return setProblem(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (result === undefined) void read(text);
        else {
          onClose();
          onAdd(result.board);
        }
      }}
    >
      <h2>Import a board</h2>
      <p class="unit">A board exported from gpulse, or a Grafana dashboard, as JSON.</p>
      <div class="field">
        <label class="name-of" for={`${id}f`}>
          File
        </label>
        <input
          id={`${id}f`}
          type="file"
          accept=".json,application/json"
          onChange={(event) => {
            const [file] = event.currentTarget.files ?? [];
            if (file === undefined) return;
            if (file.size > boardLimits.importBytes) return void read(" ".repeat(file.size));
            void file.text().then((given) => {
              setText(given);
              return read(given);
            });
          }}
        />
      </div>
      <div class="field">
        <label class="name-of" for={`${id}t`}>
          Or its text
        </label>
        <textarea
          id={`${id}t`}
          rows={6}
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setResult(undefined);
          }}
        />
      </div>
      <FormEnd
        problem={problem}
        submit={result === undefined ? "Read" : `Add “${result.board.title}”`}
        disabled={text.trim() === ""}
        onCancel={onClose}
      >
        {result !== undefined && <Outcome {...result} />}
      </FormEnd>
    </form>
  );
}

function Outcome({ board, leftOut }: ImportedBoard) {
  return (
    <div role="status" class="import-outcome">
      <p>
        <strong>{board.title}</strong>: {board.panels.length}{" "}
        {board.panels.length === 1 ? "panel" : "panels"}
        {board.variables.length === 0
          ? ""
          : `, variables ${board.variables.map(({ name }) => name).join(", ")}`}
        . {leftOut.length === 0 && "Everything was imported."}
      </p>
      {leftOut.length > 0 && (
        <>
          <h3>Not imported, or changed</h3>
          <ul tabIndex={0} aria-label="Not imported, or changed">
            {leftOut.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
