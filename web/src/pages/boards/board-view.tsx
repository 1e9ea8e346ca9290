/** One board: its variables and panels; in edit mode also the tools to arrange and save it. */
import { useEffect, useState } from "preact/hooks";
import { type Board, boardLimits, type BoardPanel } from "../../../../src/view/board/board.ts";
import { useTitle } from "../../app/title.ts";
import { save } from "../../chart/export.ts";
import { ApiError, getJson } from "../../query/http.ts";
import { mayChange } from "../../query/me.ts";
import { useJson } from "../../query/use-fetch.ts";
import { attempt } from "../../ui/attempt.ts";
import { Empty } from "../../ui/banner.tsx";
import { copyToClipboard } from "../../ui/copy.tsx";
import { Menu } from "../../ui/menu.tsx";
import { toast } from "../../ui/toast.ts";
import { goTo, hrefOf } from "../../view-state/address.ts";
import { formatInstant } from "../../view-state/range.ts";
import { addBoard, exportText, pathOf, removeBoard, saveBoard, type SavedBoard } from "./api.ts";
import { changePanel, freePanelId } from "./arrange.ts";
import { Arrangement } from "./arrangement.tsx";
import { Panel } from "./panel.tsx";
import { PanelDialog } from "./panel-dialog.tsx";
import { boardId, choices, mode } from "./view.ts";
import { Variables } from "./variables.tsx";

/** Refresh interval, so that a screen shows changes that were saved elsewhere. */
const EVERY_MS = 60_000;

export function BoardView({ id }: { id: string }) {
  const answer = useJson<SavedBoard>(pathOf(id), EVERY_MS);
  const [draft, setDraft] = useState<Board | undefined>(undefined);
  const saved = answer.value;
  useTitle(saved?.board.title);
  if (answer.error?.missing === true)
    return (
      <Empty title="There is no such board.">
        <a href={hrefOf("boards")}>All boards</a>
      </Empty>
    );
  if (saved === undefined) return answer.error === undefined ? null : <p>{answer.error.message}</p>;
  const board = draft ?? saved.board;
  const isEmbedded = mode.value === "embed";
  return (
    <>
      <div class="board-head">
        {!isEmbedded && (
          <a class="quiet" href={hrefOf("boards")} aria-label="All boards">
            ‹
          </a>
        )}
        {isEmbedded && <h1 class="unseen">gpulse</h1>}
        <h2 class="page-title">{board.title}</h2>
        <Variables board={board} />
        <span class="spacer" />
        {!isEmbedded &&
          (draft === undefined ? (
            <BoardTools saved={saved} onEdit={() => setDraft(saved.board)} onDraft={setDraft} />
          ) : (
            <EditTools
              saved={saved}
              draft={draft}
              onChange={setDraft}
              onEnd={() => setDraft(undefined)}
              onSaved={answer.again}
            />
          ))}
      </div>
      {draft === undefined ? (
        <div class="board">
          {board.panels.map((panel) => (
            <div key={panel.id} class="board-panel" style={{ "--columns": panel.columns }}>
              <Panel board={board} panel={panel} />
            </div>
          ))}
        </div>
      ) : (
        <EditedBoard draft={draft} onChange={setDraft} />
      )}
      {board.panels.length === 0 && (
        <Empty title="This board has no panel.">
          {mayChange.value
            ? "Edit it to add one, or pin a chart with the menu at its top right."
            : "An administrator can add some."}
        </Empty>
      )}
    </>
  );
}

interface BoardToolsProps {
  readonly saved: SavedBoard;
  readonly onEdit: () => void;
  readonly onDraft: (board: Board) => void;
}

function BoardTools({ saved: { id, board, earlier }, onEdit, onDraft }: BoardToolsProps) {
  const copy = (): void =>
    void attempt(
      async () => {
        const title = `${board.title} (copy)`.slice(0, boardLimits.titleCharacters);
        boardId.value = (await addBoard({ ...board, title })).id;
      },
      () => undefined,
    );
  const remove = (): void => {
    if (confirm(`Delete the board “${board.title}” with its earlier versions?`))
      void attempt(
        () => removeBoard(id),
        () => {
          toast(`${board.title} is deleted.`);
          goTo("boards");
        },
      );
  };
  const restore = (version: number): void =>
    void attempt(
      async () => {
        const found = (await getJson(`${pathOf(id)}/versions/${version}`)) as SavedBoard;
        onDraft(found.board);
      },
      () => toast(`This is version ${version}. Save it to make it the newest.`),
    );
  const changes = mayChange.value
    ? [
        { label: "Make a copy", run: copy },
        ...earlier.slice(0, 5).map(({ version, savedAt, savedBy }) => ({
          label: `Version ${version}: ${formatInstant(Date.parse(savedAt)).slice(0, 16)}, ${savedBy}`,
          run: () => restore(version),
        })),
        { label: "Delete", run: remove },
      ]
    : [];
  return (
    <>
      <a class="quiet" href={hrefOf("boards", { board: id, mode: "tv", ...choices(board) })}>
        TV mode
      </a>
      <button type="button" class="quiet changes" onClick={onEdit}>
        Edit
      </button>
      <Menu
        label="More about this board"
        class="quiet"
        items={[
          {
            label: "Copy link",
            run: () => void copyToClipboard(location.href, "The link is in the clipboard."),
          },
          {
            label: "Export JSON",
            run: () =>
              save(new Blob([exportText(board)], { type: "application/json" }), `${id}.json`),
          },
          ...changes,
        ]}
      >
        <span aria-hidden="true">⋯</span>
      </Menu>
    </>
  );
}

interface EditToolsProps {
  readonly saved: SavedBoard;
  readonly draft: Board;
  readonly onChange: (board: Board) => void;
  readonly onEnd: () => void;
  readonly onSaved: () => void;
}

function EditTools({ saved, draft, onChange, onEnd, onSaved }: EditToolsProps) {
  const [problem, setProblem] = useState<string | undefined>(undefined);
  // The version that the edit started from, because the board is refreshed meanwhile.
  const [began] = useState(saved.version);
  const [busy, setBusy] = useState(false);
  const isChanged = JSON.stringify(draft) !== JSON.stringify(saved.board);
  useEffect(() => {
    if (!isChanged) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isChanged]);
  const store = async (): Promise<void> => {
    setBusy(true);
    try {
      const { version } = await saveBoard(saved.id, began, draft);
      toast(`${draft.title} is saved as version ${version}.`);
      onSaved();
      onEnd();
    } catch (thrown) {
      setProblem(thrown instanceof ApiError ? thrown.message : String(thrown));
    }
    setBusy(false);
  };
  return (
    <>
      <label class="check">
        Title
        <input
          class="input"
          type="text"
          maxLength={boardLimits.titleCharacters}
          value={draft.title}
          onInput={(event) => onChange({ ...draft, title: event.currentTarget.value })}
        />
      </label>
      <button type="button" class="primary" disabled={busy} onClick={() => void store()}>
        Save
      </button>
      <button type="button" class="quiet" onClick={onEnd}>
        Discard
      </button>
      {problem !== undefined && (
        <p class="bad board-problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

function EditedBoard({ draft, onChange }: { draft: Board; onChange: (board: Board) => void }) {
  const [edited, setEdited] = useState<BoardPanel | undefined>(undefined);
  const isNew = edited !== undefined && !draft.panels.some(({ id }) => id === edited.id);
  return (
    <>
      <Arrangement board={draft} onChange={onChange} onEdit={setEdited} />
      {draft.panels.length < boardLimits.panels && (
        <p class="bar-line">
          <button
            type="button"
            class="quiet"
            onClick={() =>
              setEdited({
                id: freePanelId(draft),
                title: "",
                kind: "timeseries",
                queries: [{ query: "" }],
                columns: 6,
                rows: 4,
              })
            }
          >
            Add a panel
          </button>
        </p>
      )}
      <PanelDialog
        panel={edited}
        onClose={() => setEdited(undefined)}
        onDone={(panel) => {
          onChange(
            isNew
              ? { ...draft, panels: [...draft.panels, panel] }
              : changePanel(draft, panel.id, () => panel),
          );
          setEdited(undefined);
        }}
      />
    </>
  );
}
