/** The instants a query is evaluated at: evenly spaced, both ends included. One instant is a grid of one. */

export interface Grid {
  readonly startMs: number;
  readonly stepMs: number;
  readonly count: number;
}

export function gridOf(startMs: number, endMs: number, stepMs: number): Grid {
  if (endMs < startMs) return { startMs, stepMs, count: 0 };
  return { startMs, stepMs, count: stepMs > 0 ? Math.floor((endMs - startMs) / stepMs) + 1 : 1 };
}

export function timeAt(grid: Grid, index: number): number {
  return grid.startMs + index * grid.stepMs;
}

export function endOf(grid: Grid): number {
  return grid.startMs + Math.max(0, grid.count - 1) * grid.stepMs;
}

export function firstOf(grid: Grid): Grid {
  return { ...grid, count: Math.min(1, grid.count) };
}
