/** The dialog to pin a chart: the board, the title, and whether it follows the board's host. */
import { useId, useState } from "preact/hooks";
import { boardLimits, defaultVariables } from "../../../src/view/board/board.ts";
import { addBoard, type BoardSummary, pinPanel } from "../pages/boards/api.ts";
import { useJson } from "../query/use-fetch.ts";
import { Dialog } from "../ui/dialog.tsx";
import { FormEnd, TextField } from "../ui/dialog-form.tsx";
import { toast } from "../ui/toast.ts";
import { type PinnedChart, pinnedChart } from "./pin.tsx";

const NEW = "";

export function PinDialog() {
  const chart = pinnedChart.value;
  const close = (): void => {
    pinnedChart.value = undefined;
  };
  return (
    <Dialog label="Pin to a board" open={chart !== undefined} onClose={close}>
      {chart !== undefined && <PinForm chart={chart} onClose={close} />}
    </Dialog>
  );
}

function PinForm({ chart, onClose }: { chart: PinnedChart; onClose: () => void }) {
  const { value } = useJson<{ readonly boards: readonly BoardSummary[] }>("api/boards");
  const boards = value?.boards ?? [];
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const board = chosen ?? boards[0]?.id ?? NEW;
  const [name, setName] = useState("New board");
  const [title, setTitle] = useState(chart.title);
  const [follow, setFollow] = useState(true);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const id = useId();
  const pin = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const target =
        board === NEW
          ? (await addBoard({ title: name, variables: defaultVariables, panels: [] })).id
          : board;
      const saved = await pinPanel(target, { ...chart, title }, follow);
      setChosen(target);
      toast(`${title} is pinned to ${saved.board.title}.`);
      onClose();
    } catch (thrown) {
      setProblem(thrown instanceof Error ? thrown.message : String(thrown));
      setBusy(false);
    }
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void pin();
      }}
    >
      <h2>Pin to a board</h2>
      <div class="field">
        <label class="name-of" for={`${id}b`}>
          Board
        </label>
        <select
          id={`${id}b`}
          value={board}
          onChange={(event) => setChosen(event.currentTarget.value)}
        >
          {boards.map((one) => (
            <option key={one.id} value={one.id}>
              {one.title}
            </option>
          ))}
          <option value={NEW}>A new board</option>
        </select>
      </div>
      {board === NEW && (
        <TextField
          id={`${id}n`}
          label="Its title"
          maxLength={boardLimits.titleCharacters}
          value={name}
          onChange={setName}
        />
      )}
      <TextField
        id={`${id}t`}
        label="Title of the panel"
        maxLength={boardLimits.titleCharacters}
        value={title}
        onChange={setTitle}
      />
      <div class="field">
        <label class="check">
          <input
            type="checkbox"
            checked={follow}
            onChange={(event) => setFollow(event.currentTarget.checked)}
          />
          Follow the host that is chosen on the board
        </label>
        <span class="unit">A chart of one GPU stays with that GPU.</span>
      </div>
      <FormEnd
        problem={problem}
        submit="Pin"
        disabled={busy || value === undefined}
        onCancel={onClose}
      />
    </form>
  );
}
