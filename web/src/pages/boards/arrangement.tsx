/** The panels in edit mode: each is moved by its handle with a pointer or the arrow keys, and resized with Shift. */
import { useState } from "preact/hooks";
import type { Board, BoardPanel } from "../../../../src/view/board/board.ts";
import { movePanel, removePanel, resizePanel } from "./arrange.ts";
import { Panel } from "./panel.tsx";

export interface ArrangementProps {
  readonly board: Board;
  readonly onChange: (board: Board) => void;
  readonly onEdit: (panel: BoardPanel) => void;
}

export function Arrangement({ board, onChange, onEdit }: ArrangementProps) {
  const [said, setSaid] = useState("");
  const [dragged, setDragged] = useState<string | undefined>(undefined);
  const place = (panel: BoardPanel, to: number): void => {
    const next = movePanel(board, panel.id, to);
    if (next === board) return;
    onChange(next);
    const at = next.panels.findIndex(({ id }) => id === panel.id);
    setSaid(`${nameOf(panel)} is at place ${at + 1} of ${next.panels.length}.`);
  };
  const resize = (panel: BoardPanel, columns: number, rows: number): void => {
    const next = resizePanel(board, panel.id, columns, rows);
    onChange(next);
    const { columns: wide = 0, rows: high = 0 } =
      next.panels.find(({ id }) => id === panel.id) ?? {};
    setSaid(`${nameOf(panel)} is ${wide} of 12 columns wide and ${high} rows high.`);
  };
  const press = (event: KeyboardEvent, panel: BoardPanel, at: number): void => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const isAcross = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (event.shiftKey) resize(panel, isAcross ? step : 0, isAcross ? 0 : step);
    else place(panel, at + step);
  };
  const drag = (event: PointerEvent, panel: BoardPanel): void => {
    if (dragged !== panel.id) return;
    const over = document
      .elementFromPoint(event.clientX, event.clientY)
      ?.closest<HTMLElement>("[data-panel]");
    const to = board.panels.findIndex(({ id }) => id === over?.dataset["panel"]);
    if (to >= 0) place(panel, to);
  };
  return (
    <>
      <p class="unseen" role="status">
        {said}
      </p>
      <div class="board editing">
        {board.panels.map((panel, at) => (
          <div
            key={panel.id}
            class="board-panel"
            data-panel={panel.id}
            data-dragged={dragged === panel.id ? "" : undefined}
            style={{ "--columns": panel.columns }}
          >
            <div class="panel-tools">
              <button
                type="button"
                class="quiet handle"
                aria-label={`Move ${nameOf(panel)}`}
                data-tip="Drag, or press arrow keys; with Shift they resize"
                onKeyDown={(event) => press(event, panel, at)}
                onPointerDown={(event) => {
                  event.currentTarget.setPointerCapture(event.pointerId);
                  setDragged(panel.id);
                }}
                onPointerMove={(event) => drag(event, panel)}
                onPointerUp={() => setDragged(undefined)}
                onPointerCancel={() => setDragged(undefined)}
              >
                <span aria-hidden="true">⠿</span>
              </button>
              <ResizeButtons panel={panel} onResize={resize} />
              <span class="spacer" />
              <button
                type="button"
                class="quiet"
                aria-label={`Edit ${nameOf(panel)}`}
                onClick={() => onEdit(panel)}
              >
                Edit
              </button>
              <button
                type="button"
                class="quiet"
                aria-label={`Remove ${nameOf(panel)}`}
                onClick={() => onChange(removePanel(board, panel.id))}
              >
                Remove
              </button>
            </div>
            <Panel board={board} panel={panel} legend={false} />
          </div>
        ))}
      </div>
    </>
  );
}

const sizes = [
  { sign: "↔−", word: "narrower", columns: -1, rows: 0 },
  { sign: "↔+", word: "wider", columns: 1, rows: 0 },
  { sign: "↕−", word: "lower", columns: 0, rows: -1 },
  { sign: "↕+", word: "higher", columns: 0, rows: 1 },
] as const;

function ResizeButtons({
  panel,
  onResize,
}: {
  panel: BoardPanel;
  onResize: (panel: BoardPanel, columns: number, rows: number) => void;
}) {
  return sizes.map(({ sign, word, columns, rows }) => (
    <button
      key={word}
      type="button"
      class="quiet"
      aria-label={`Make ${nameOf(panel)} ${word}`}
      onClick={() => onResize(panel, columns, rows)}
    >
      {sign}
    </button>
  ));
}

const nameOf = ({ title, id }: BoardPanel): string => (title === "" ? id : title);
