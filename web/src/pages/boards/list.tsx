/** All boards of the hub, and how to create one. */
import { useState } from "preact/hooks";
import { type Board, defaultVariables } from "../../../../src/view/board/board.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { mayChange } from "../../query/me.ts";
import { useJson } from "../../query/use-fetch.ts";
import { attempt } from "../../ui/attempt.ts";
import { Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { useLate } from "../../ui/use-late.ts";
import { hrefOf } from "../../view-state/address.ts";
import { addBoard, type BoardSummary } from "./api.ts";
import { ImportDialog } from "./import-dialog.tsx";
import { starterPanels } from "./starter.ts";
import { boardId } from "./view.ts";

export function BoardList() {
  const answer = useJson<{ readonly boards: readonly BoardSummary[] }>("api/boards", 15_000);
  const [importing, setImporting] = useState(false);
  const boards = answer.value?.boards;
  const late = useLate(boards === undefined);
  const add = (board: Board): void =>
    void attempt(
      async () => {
        boardId.value = (await addBoard(board)).id;
      },
      () => undefined,
    );
  return (
    <>
      <div class="board-head">
        <h2 class="page-title">Boards</h2>
        <span class="spacer" />
        {boards !== undefined && boards.length > 0 && (
          <a
            class="quiet"
            href={hrefOf("boards", {
              board: boards[0]?.id,
              mode: "tv",
              playlist: boards.map(({ id }) => id).join(","),
            })}
          >
            TV mode
          </a>
        )}
        <button type="button" class="quiet changes" onClick={() => setImporting(true)}>
          Import
        </button>
        <button
          type="button"
          class="primary changes"
          onClick={() =>
            add({ title: "New board", variables: defaultVariables, panels: starterPanels })
          }
        >
          New board
        </button>
      </div>
      {answer.error !== undefined && answer.error.status !== 0 && (
        <p class="bad" role="alert">
          {answer.error.message}
        </p>
      )}
      {boards === undefined ? (
        late && answer.error === undefined && <p class="unit">Loading…</p>
      ) : (
        <Table
          caption="Boards"
          class="stacked"
          columns={columns}
          rows={boards}
          rowKey={({ id }) => id}
          empty={
            <Empty title="No boards yet.">
              {mayChange.value
                ? "Make one here, pin a chart with the menu at its top right, or import a Grafana dashboard."
                : "An administrator can make one."}
            </Empty>
          }
        />
      )}
      <ImportDialog open={importing} onClose={() => setImporting(false)} onAdd={add} />
    </>
  );
}

const columns: readonly TableColumn<BoardSummary>[] = [
  {
    key: "title",
    label: "Title",
    by: ({ title }) => title,
    cell: ({ id, title }) => <a href={hrefOf("boards", { board: id })}>{title}</a>,
  },
  {
    key: "panels",
    label: "Panels",
    numeric: true,
    by: ({ panels }) => panels,
    cell: ({ panels }) => panels,
  },
  {
    key: "version",
    label: "Version",
    numeric: true,
    by: ({ version }) => version,
    cell: ({ version }) => version,
  },
  {
    key: "saved",
    label: "Saved",
    by: ({ savedAt }) => savedAt,
    cell: ({ savedAt, savedBy }) =>
      `${formatAge(hubTimeMs() - Date.parse(savedAt))} ago by ${savedBy}`,
  },
];
