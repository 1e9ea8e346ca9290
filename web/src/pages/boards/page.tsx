/** Boards: charts that users arranged and saved on the hub; shown normally, on a wall display or in a frame. */
import { BoardList } from "./list.tsx";
import { BoardView } from "./board-view.tsx";
import { TvMode } from "./tv.tsx";
import { boardId, mode } from "./view.ts";
import "./boards.css";

export function Page() {
  const id = boardId.value;
  if (id === undefined) return <BoardList />;
  return mode.value === "tv" ? <TvMode id={id} /> : <BoardView key={id} id={id} />;
}
