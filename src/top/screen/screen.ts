/** Draws the whole screen for a size: exactly that many lines, each of exactly that width. Pure. */
import { arrange, type VisibleItems } from "../model/arrange.ts";
import { gpuId } from "../../view/gpu.ts";
import type { Picture } from "../model/picture.ts";
import { type GpuTask, type TaskLine, treeLines } from "../model/process.ts";
import type { Glyphs } from "../text/glyphs.ts";
import { fitRow, span, type TextRow } from "../text/row.ts";
import { clean } from "../text/width.ts";
import type { Hit, View } from "../view/view.ts";
import { tiles } from "./charts.ts";
import { headRow, placeColumns, tableRow } from "./columns.ts";
import { details } from "./details.ts";
import { footRow, summaryRow, titleRow } from "./frame.ts";
import { gpuColumns } from "./gpu-table.ts";
import { heatLines, drawHeatmap } from "./heatmap.ts";
import { help } from "./help.ts";
import { taskColumns } from "./task-table.ts";

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

export interface Screen {
  readonly rows: readonly TextRow[];
  readonly hits: readonly Hit[];
  readonly arranged: VisibleItems;
  /** In the order on the screen: a tree is ordered differently from the list. */
  readonly taskOrder: readonly GpuTask[];
}

/** With more GPUs than this, the overview includes a heatmap. */
const HEATMAP_FROM = 24;

export function drawScreen(picture: Picture, view: View, size: ScreenSize, glyphs: Glyphs): Screen {
  const arranged = arrange(picture, view.filter, view.gpuSort, view.taskSort);
  const lines: readonly TaskLine[] = view.isTree
    ? treeLines(arranged.tasks)
    : arranged.tasks.map((task) => ({ task, depth: [], label: "" }));
  const page = new PageDraft(picture, view, size, glyphs, arranged, lines);
  page.draw();
  const rows = page.rows.slice(0, size.rows);
  while (rows.length < size.rows) rows.push(fitRow([], size.columns));
  return {
    rows,
    hits: page.hits,
    arranged,
    taskOrder: lines.flatMap(({ task }) => (task === undefined ? [] : [task])),
  };
}

class PageDraft {
  readonly rows: TextRow[] = [];
  readonly hits: Hit[] = [];
  readonly #picture: Picture;
  readonly #view: View;
  readonly #size: ScreenSize;
  readonly #glyphs: Glyphs;
  readonly #arranged: VisibleItems;
  readonly #lines: readonly TaskLine[];

  constructor(
    picture: Picture,
    view: View,
    size: ScreenSize,
    glyphs: Glyphs,
    arranged: VisibleItems,
    lines: readonly TaskLine[],
  ) {
    this.#picture = picture;
    this.#view = view;
    this.#size = size;
    this.#glyphs = glyphs;
    this.#arranged = arranged;
    this.#lines = lines;
  }

  draw(): void {
    const { columns: width, rows: height } = this.#size;
    const { gpus } = this.#arranged;
    this.rows.push(titleRow(this.#picture, this.#view, gpus, width, this.#glyphs));
    if (height >= 4) this.rows.push(summaryRow(this.#picture, gpus, width, this.#glyphs));
    const [problem] = this.#picture.problems;
    if (problem !== undefined && height >= 10) {
      const others = this.#picture.problems.length - 1;
      const more = others === 0 ? "" : ` (and ${others} more)`;
      this.rows.push(fitRow([span(" ! ", "bad"), span(clean(problem) + more, "warn")], width));
    }
    const room = height - this.rows.length - (height >= 3 ? 1 : 0);
    if (room > 0) this.#body(room);
    while (this.rows.length < height - 1) this.rows.push(fitRow([], width));
    if (height >= 3) this.rows.push(footRow(this.#view, width));
  }

  #body(room: number): void {
    const { columns: width } = this.#size;
    const { gpus } = this.#arranged;
    switch (this.#view.page) {
      case "help":
        this.rows.push(...help(width, room, this.#glyphs));
        return;
      case "heatmap":
        this.#heat(room);
        return;
      case "tasks":
        this.#tasks(room);
        return;
      case "details": {
        const gpu = gpus.find(({ id }) => id === this.#view.gpu) ?? gpus[0];
        if (gpu === undefined) return;
        const own = this.#lines.filter(({ task }) => task !== undefined && gpuId(task) === gpu.id);
        const forTasks =
          own.length === 0 || room < 16 ? 0 : Math.min(own.length + 1, Math.floor(room / 4));
        this.rows.push(...details(this.#picture, gpu, width, room - forTasks, this.#glyphs));
        if (forTasks > 0) this.#tasks(forTasks, own);
        return;
      }
      case "overview":
        this.#overview(room);
        return;
    }
  }

  #overview(room: number): void {
    const { columns: width } = this.#size;
    const { gpus } = this.#arranged;
    const taskCount = this.#lines.length;
    let left = room;
    if (gpus.length > HEATMAP_FROM && room >= 12) {
      const lines = Math.min(heatLines(gpus.length, width), Math.floor(room * 0.4));
      this.#heat(lines);
      left -= lines;
    }
    const forTasks =
      taskCount === 0 ? 0 : Math.min(1 + taskCount, Math.max(4, Math.floor(left / 3)));
    const gpuLines = Math.min(1 + gpus.length, left - (left >= 8 ? forTasks : 0));
    const first = this.#gpus(gpuLines);
    left -= gpuLines;
    const wanted = taskCount === 0 ? 0 : 1 + taskCount;
    const taskLines = Math.min(wanted, left >= 14 ? Math.max(forTasks, left - 12) : left);
    const charts = tiles(
      this.#picture,
      gpus.slice(first),
      width,
      left - taskLines - 1,
      this.#glyphs,
    );
    if (charts.length > 0) this.rows.push(fitRow([], width), ...charts);
    left -= charts.length > 0 ? charts.length + 1 : 0;
    const blank = charts.length > 0 && left > Math.min(wanted, left) ? 1 : 0;
    if (blank === 1) this.rows.push(fitRow([], width));
    if (wanted > 0 && left - blank >= 2) this.#tasks(Math.min(wanted, left - blank));
  }

  #heat(height: number): void {
    const { gpus } = this.#arranged;
    const drawn = drawHeatmap(gpus, {
      metric: this.#view.heat,
      chosen:
        this.#view.gpu ??
        (this.#view.page === "heatmap" && gpus[0] !== undefined ? gpus[0].id : undefined),
      width: this.#size.columns,
      height: height - (this.#view.page === "heatmap" && height >= 4 ? 2 : 0),
      firstRow: this.rows.length,
      glyphs: this.#glyphs,
      hasNames: this.#view.page === "heatmap",
    });
    this.rows.push(...drawn.rows);
    this.hits.push(...drawn.hits);
    if (this.#view.page !== "heatmap" || height < 4) return;
    // The selected GPU as a table row, at the bottom.
    const chosen = gpus.find(({ id }) => id === this.#view.gpu) ?? gpus[0];
    while (this.rows.length < this.#size.rows - 3) this.rows.push(fitRow([], this.#size.columns));
    const placed = placeColumns(gpuColumns(this.#picture, this.#glyphs), this.#size.columns);
    this.rows.push(headRow(placed, this.#view.gpuSort, this.#size.columns, this.#glyphs, false));
    if (chosen !== undefined) this.rows.push(tableRow(placed, chosen, this.#size.columns, false));
  }

  /** Draws the table in `height` lines, header included; returns the index of its first GPU. */
  #gpus(height: number): number {
    const { columns: width } = this.#size;
    const { gpus } = this.#arranged;
    if (height < 1) return 0;
    const placed = placeColumns(gpuColumns(this.#picture, this.#glyphs), width);
    const isFocused = this.#view.focus === "gpus";
    const row = this.rows.length;
    this.rows.push(headRow(placed, this.#view.gpuSort, width, this.#glyphs, isFocused));
    for (const { column, from, width: wide } of placed)
      if (column.sort !== undefined)
        this.hits.push({ kind: "gpu-sort", row, from, to: from + wide, key: column.sort });
    const chosen = gpus.findIndex(({ id }) => id === this.#view.gpu);
    const first = firstVisible(chosen, height - 1, gpus.length);
    this.#markHidden(row, first, gpus.length - first - (height - 1));
    gpus.slice(first, first + height - 1).forEach((gpu, at) => {
      const isChosen = isFocused && first + at === Math.max(0, chosen);
      this.hits.push({
        kind: "gpu",
        row: this.rows.length,
        from: 0,
        to: width,
        gpu: gpu.id,
      });
      this.rows.push(tableRow(placed, gpu, width, isChosen));
    });
    return first;
  }

  /** Shows the number of lines above and below the visible part, at the end of the table's header. */
  #markHidden(row: number, above: number, below: number): void {
    const { columns: width } = this.#size;
    const head = this.rows[row];
    if (head === undefined || (above <= 0 && below <= 0)) return;
    const [up, down] = this.#glyphs.ascii ? ["^", "v"] : ["↑", "↓"];
    const text = `${above > 0 ? ` ${up}${above}` : ""}${below > 0 ? ` ${down}${below}` : ""}`;
    this.rows[row] = [...fitRow(head, width - text.length), span(text, "dim")];
  }

  #tasks(height: number, lines = this.#lines): void {
    const { columns: width } = this.#size;
    const hasPids = lines.some(({ task }) => task?.pid !== undefined);
    const placed = placeColumns(taskColumns(this.#picture, this.#glyphs, hasPids), width);
    const isFocused = this.#view.focus === "tasks";
    const row = this.rows.length;
    this.rows.push(headRow(placed, this.#view.taskSort, width, this.#glyphs, isFocused));
    for (const { column, from, width: wide } of placed)
      if (column.sort !== undefined)
        this.hits.push({ kind: "task-sort", row, from, to: from + wide, key: column.sort });
    const named = lines.findIndex(({ task }) => task !== undefined && task.key === this.#view.task);
    const chosen = named === -1 ? lines.findIndex(({ task }) => task !== undefined) : named;
    const first = firstVisible(chosen, height - 1, lines.length);
    this.#markHidden(row, first, lines.length - first - (height - 1));
    lines.slice(first, first + height - 1).forEach((line, at) => {
      if (line.task !== undefined)
        this.hits.push({
          kind: "task",
          row: this.rows.length,
          from: 0,
          to: width,
          key: line.task.key,
        });
      this.rows.push(tableRow(placed, line, width, isFocused && first + at === chosen));
    });
    if (lines.length === 0)
      this.rows.push(fitRow([span(" no process or owner is known", "dim")], width));
  }
}

/** Scrolls so that the selected line is visible, centred if there are more lines on both sides. */
function firstVisible(chosen: number, room: number, count: number): number {
  if (chosen < room) return 0;
  return Math.max(0, Math.min(count - room, chosen - Math.floor(room / 2)));
}
