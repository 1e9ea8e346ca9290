/** The hub's boards: types and requests. */
import type { Board, BoardPanel } from "../../../../src/view/board/board.ts";
import { send } from "../../query/http.ts";

export interface BoardVersionInfo {
  readonly version: number;
  readonly savedAt: string;
  readonly savedBy: string;
}

export interface BoardSummary extends BoardVersionInfo {
  readonly id: string;
  readonly title: string;
  readonly panels: number;
}

export interface SavedBoard extends BoardVersionInfo {
  readonly id: string;
  readonly board: Board;
  readonly earlier: readonly BoardVersionInfo[];
}

export interface ImportedBoard {
  readonly board: Board;
  readonly leftOut: readonly string[];
}

export const pathOf = (id: string): string => `api/boards/${encodeURIComponent(id)}`;

export const addBoard = async (board: Board): Promise<SavedBoard> =>
  (await send("POST", "api/boards", board)) as SavedBoard;

export const saveBoard = async (id: string, version: number, board: Board): Promise<SavedBoard> =>
  (await send("PUT", pathOf(id), { version, board })) as SavedBoard;

export const removeBoard = (id: string): Promise<unknown> => send("DELETE", pathOf(id));

export const pinPanel = async (
  id: string,
  panel: Omit<BoardPanel, "id">,
  follow: boolean,
): Promise<SavedBoard> =>
  (await send("POST", `${pathOf(id)}/panels`, { panel, follow })) as SavedBoard;

/** `text` is the file's content; the hub validates it. */
export const readImport = async (text: string): Promise<ImportedBoard> =>
  (await send("POST", "api/boards/import", text)) as ImportedBoard;

/** A board as a file that the hub can import again. */
export const exportText = (board: Board): string =>
  `${JSON.stringify({ gpulse: "board", format: 1, ...board }, undefined, 2)}\n`;
