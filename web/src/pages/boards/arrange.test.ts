import { expect, test } from "vitest";
import type { Board, BoardPanel } from "../../../../src/view/board/board.ts";
import { freePanelId, movePanel, removePanel, resizePanel, screensOf } from "./arrange.ts";

const panel = (id: string, columns = 6, rows = 3): BoardPanel => ({
  id,
  title: id,
  kind: "stat",
  queries: [{ query: "up" }],
  columns,
  rows,
});
const board = (...panels: BoardPanel[]): Board => ({ title: "b", variables: [], panels });
const ids = ({ panels }: Board): string => panels.map(({ id }) => id).join("");
const abc = board(panel("a"), panel("b"), panel("c"));

test.each([
  ["a", 1, "bac"],
  ["a", 2, "bca"],
  ["c", 0, "cab"],
  ["a", -1, "abc"],
  ["c", 9, "abc"],
  ["x", 1, "abc"],
])("%s moved to place %i gives %s", (id, to, expected) => {
  expect(ids(movePanel(abc, id, to))).toBe(expected);
});

test("a panel grows and shrinks within the grid", () => {
  expect(resizePanel(abc, "a", 20, -20).panels[0]).toMatchObject({ columns: 12, rows: 1 });
  expect(resizePanel(abc, "a", -20, 20).panels[0]).toMatchObject({ columns: 2, rows: 8 });
});

test("an id is free again once its panel is removed", () => {
  const two = board(panel("panel-1"), panel("panel-2"));
  expect(freePanelId(two)).toBe("panel-3");
  expect(freePanelId(removePanel(two, "panel-1"))).toBe("panel-3");
});

test("TV screens hold whole lines in order, also one that is higher than a screen", () => {
  const panels = [panel("a"), panel("b"), panel("c", 12, 4), panel("d", 12, 8), panel("e")];
  const screens = screensOf(panels, 7);
  const shown = screens.map((lines) =>
    lines.map((line) => line.panels.map(({ id }) => id).join("")).join("/"),
  );
  expect(shown).toEqual(["ab/c", "d", "e"]);
  expect(screensOf([], 7)).toEqual([]);
});
