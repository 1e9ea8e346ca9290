/**
 * Places the names of lines inside a plot: directly above or below the end of their line, where they cover nothing. A name without
 * such a place is left out, because the legend has it. Pure; all lengths are CSS pixels from the upper left corner of the plot.
 */

/** The vertical extent of a line in each pixel column; NaN where it has no reading. */
export interface LineExtent {
  readonly top: Float64Array;
  readonly bottom: Float64Array;
}

export interface LabelledLine {
  readonly key: string;
  readonly text: string;
  readonly textPx: number;
  readonly extent: LineExtent;
}

export interface PlacedLabel {
  readonly key: string;
  readonly text: string;
  readonly left: number;
  readonly top: number;
  readonly slot: LabelSlot;
  /** From the name to its line, if they do not touch. */
  readonly leader?: { readonly x: number; readonly fromY: number; readonly toY: number };
}

/** Where a name stands in relation to the end of its line. */
export interface LabelSlot {
  readonly slidePx: number;
  readonly gapPx: number;
  readonly isAbove: boolean;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** A name moves at most this far back along its line, */
const MOST_SLIDE_PX = 160;
const SLIDE_PX = 16;
/** at most this far away from it, with a leader from the second on, */
const GAPS_PX = [2, 9, 16] as const;
/** and not to a place where the line itself rises and falls by more than this. */
const MOST_SWING_PX = 26;
const AROUND_PX = 2;
/** A name may stand in the padding above the plot. */
const ABOVE_PX = 7;

/** @param points `x` and `y` of each reading in time order; `y` is undefined for a gap */
export function extentOf(
  points: Iterable<readonly [x: number, y: number | undefined]>,
  widthPx: number,
): LineExtent {
  const count = Math.max(0, Math.ceil(widthPx));
  const [top, bottom] = [
    new Float64Array(count).fill(Number.NaN),
    new Float64Array(count).fill(Number.NaN),
  ];
  const cover = (column: number, y: number): void => {
    if (column < 0 || column >= count) return;
    // Comparisons with NaN are false.
    if (!((top[column] ?? Number.NaN) <= y)) top[column] = y;
    if (!((bottom[column] ?? Number.NaN) >= y)) bottom[column] = y;
  };
  let before: readonly [number, number] | undefined;
  for (const [x, y] of points) {
    if (y === undefined) {
      before = undefined;
      continue;
    }
    const [fromX, fromY] = before ?? [x, y];
    const [first, last] = [Math.max(0, Math.floor(fromX)), Math.min(count - 1, Math.floor(x))];
    for (let column = first; column <= last; column += 1) {
      // The part of the segment within this column.
      for (const at of [Math.max(fromX, column), Math.min(x, column + 1)])
        cover(column, x === fromX ? y : fromY + ((y - fromY) * (at - fromX)) / (x - fromX));
    }
    cover(Math.floor(x), y);
    before = [x, y];
  }
  return { top, bottom };
}

export interface LabelArea {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly rowPx: number;
}

/**
 * Earlier lines choose first. `all` are the lines that no name may cover; `before` the slots of the last drawing, so that a name does
 * not jump while new readings arrive.
 */
export function placeLabels(
  lines: readonly LabelledLine[],
  all: readonly LineExtent[],
  area: LabelArea,
  before: ReadonlyMap<string, LabelSlot> = new Map(),
): PlacedLabel[] {
  const placed: PlacedLabel[] = [];
  const boxes: Box[] = [];
  for (const line of lines) {
    const end = line.extent.top.findLastIndex((y) => !Number.isNaN(y));
    if (end < 0) continue;
    const last = before.get(line.key);
    for (const slot of last === undefined ? slots : [last, ...slots]) {
      const found = tryPlace(line, { end, slot, area, all, boxes });
      if (found === undefined) continue;
      boxes.push(found.box);
      placed.push(found.label);
      break;
    }
  }
  return placed;
}

const slots: readonly LabelSlot[] = Array.from(
  { length: MOST_SLIDE_PX / SLIDE_PX + 1 },
  (_, at) => at * SLIDE_PX,
).flatMap((slidePx) =>
  GAPS_PX.flatMap((gapPx) => [
    { slidePx, gapPx, isAbove: true },
    { slidePx, gapPx, isAbove: false },
  ]),
);

interface Attempt {
  readonly end: number;
  readonly slot: LabelSlot;
  readonly area: LabelArea;
  readonly all: readonly LineExtent[];
  readonly boxes: readonly Box[];
}

function tryPlace(
  line: LabelledLine,
  { end, slot, area, all, boxes }: Attempt,
): { readonly label: PlacedLabel; readonly box: Box } | undefined {
  const { key, text, textPx } = line;
  const right = Math.min(end, area.widthPx - AROUND_PX) - slot.slidePx;
  const left = right - textPx;
  if (left < 0) return undefined;
  const own = rangeOf(line.extent, left, right);
  if (own === undefined || own.bottom - own.top > MOST_SWING_PX) return undefined;
  // Away from the end of its line, a name needs the line beside it.
  const middle = Math.round((left + right) / 2);
  if (slot.slidePx > 0 && Number.isNaN(line.extent.top[middle])) return undefined;
  const top = slot.isAbove ? own.top - slot.gapPx - area.rowPx : own.bottom + slot.gapPx;
  const box: Box = { left, right, top, bottom: top + area.rowPx };
  if (box.top < -ABOVE_PX || box.bottom > area.heightPx) return undefined;
  if (boxes.some((other) => overlaps(box, other))) return undefined;
  // Between two lines, a name belongs to the nearer one: the other one is further away than its own.
  const farPx = slot.gapPx + AROUND_PX;
  const clear: Box = slot.isAbove
    ? { ...box, top: box.top - farPx }
    : { ...box, bottom: box.bottom + farPx };
  if (all.some((other) => covers(other === line.extent ? box : clear, other))) return undefined;
  const label: PlacedLabel = { key, text, left, top, slot };
  if (slot.gapPx === GAPS_PX[0]) return { label, box };
  const x = middle;
  const toY = (slot.isAbove ? line.extent.top[x] : line.extent.bottom[x]) ?? Number.NaN;
  if (Number.isNaN(toY)) return undefined;
  const fromY = slot.isAbove ? box.bottom : box.top;
  // A leader that crosses another line or name would point at that one.
  const way: Box = {
    left: x - AROUND_PX,
    right: x + AROUND_PX,
    top: slot.isAbove ? fromY : toY + 2 * AROUND_PX,
    bottom: slot.isAbove ? toY - 2 * AROUND_PX : fromY,
  };
  if (way.bottom > way.top) {
    if (boxes.some((other) => overlaps(way, other))) return undefined;
    if (all.some((other) => covers(way, other))) return undefined;
  }
  return { label: { ...label, leader: { x, fromY, toY } }, box };
}

const overlaps = (one: Box, other: Box): boolean =>
  one.left < other.right + AROUND_PX &&
  other.left < one.right + AROUND_PX &&
  one.top < other.bottom &&
  other.top < one.bottom;

function covers(box: Box, line: LineExtent): boolean {
  const [first, last] = columnsIn(line, box.left - AROUND_PX, box.right + AROUND_PX);
  for (let column = first; column <= last; column += 1) {
    const [top = Number.NaN, bottom = Number.NaN] = [line.top[column], line.bottom[column]];
    if (top < box.bottom && bottom > box.top) return true;
  }
  return false;
}

const columnsIn = ({ top }: LineExtent, left: number, right: number): readonly [number, number] => [
  Math.max(0, Math.floor(left)),
  Math.min(top.length - 1, Math.ceil(right)),
];

function rangeOf(
  line: LineExtent,
  left: number,
  right: number,
): { readonly top: number; readonly bottom: number } | undefined {
  let [top, bottom] = [Infinity, -Infinity];
  const [first, last] = columnsIn(line, left, right);
  for (let column = first; column <= last; column += 1) {
    const [high = Number.NaN, low = Number.NaN] = [line.top[column], line.bottom[column]];
    if (high < top) top = high;
    if (low > bottom) bottom = low;
  }
  return top <= bottom ? { top, bottom } : undefined;
}
