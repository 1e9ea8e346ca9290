/** Changes the order and sizes of a board's panels. Pure. */
import { type Board, boardLimits, type BoardPanel } from "../../../../src/view/board/board.ts";

/** Moves a panel to an index; the others close up. */
export function movePanel(board: Board, id: string, to: number): Board {
  const from = board.panels.findIndex((panel) => panel.id === id);
  const moved = board.panels[from];
  const place = Math.max(0, Math.min(board.panels.length - 1, to));
  if (moved === undefined || place === from) return board;
  const panels = board.panels.toSpliced(from, 1).toSpliced(place, 0, moved);
  return { ...board, panels };
}

export function resizePanel(board: Board, id: string, columns: number, rows: number): Board {
  return changePanel(board, id, (panel) => ({
    ...panel,
    columns: within(panel.columns + columns, 2, boardLimits.columns),
    rows: within(panel.rows + rows, 1, boardLimits.rows),
  }));
}

export const changePanel = (
  board: Board,
  id: string,
  change: (panel: BoardPanel) => BoardPanel,
): Board => ({
  ...board,
  panels: board.panels.map((panel) => (panel.id === id ? change(panel) : panel)),
});

export const removePanel = (board: Board, id: string): Board => ({
  ...board,
  panels: board.panels.filter((panel) => panel.id !== id),
});

/** Returns an id that no panel of the board has. */
export function freePanelId({ panels }: Board): string {
  const ids = new Set(panels.map(({ id }) => id));
  let number = panels.length + 1;
  while (ids.has(`panel-${number}`)) number += 1;
  return `panel-${number}`;
}

const within = (value: number, least: number, most: number): number =>
  Math.max(least, Math.min(most, value));

/** A row of a TV screen: panels side by side, as high as the highest of them. */
export interface TvLine {
  readonly panels: readonly BoardPanel[];
  readonly rows: number;
}

/** Splits the panels into screens, in their order; a screen has at most `rowsPerScreen` rows. */
export function screensOf(
  panels: readonly BoardPanel[],
  rowsPerScreen: number,
): readonly (readonly TvLine[])[] {
  const lines: TvLine[] = [];
  let line: BoardPanel[] = [];
  const end = (): void => {
    if (line.length > 0)
      lines.push({ panels: line, rows: Math.max(...line.map(({ rows }) => rows)) });
    line = [];
  };
  for (const panel of panels) {
    const used = line.reduce((sum, { columns }) => sum + columns, 0);
    if (used + panel.columns > boardLimits.columns) end();
    line.push(panel);
  }
  end();
  const screens: TvLine[][] = [];
  let rows = 0;
  for (const one of lines) {
    if (screens.length === 0 || rows + one.rows > rowsPerScreen) {
      screens.push([]);
      rows = 0;
    }
    screens.at(-1)?.push(one);
    rows += one.rows;
  }
  return screens;
}
