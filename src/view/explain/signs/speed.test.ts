import { expect, test } from "vitest";
import { FleetCells } from "../fleet-cells.ts";
import { CellGrid } from "../grid.ts";
import { speedSigns } from "./speed.ts";

test("a clock that has been low for most of its history is as many sigmas off as it looks", () => {
  const grid = new CellGrid(Date.UTC(2026, 0, 6));
  const fleet = new FleetCells(
    grid,
    [0, 1].map((gpu) => ({
      uuid: `GPU-${gpu}`,
      host: "n1",
      index: String(gpu),
      model: "M",
      vendor: "nvidia",
    })),
  );
  for (const [at, cells] of fleet.gpus.entries()) {
    cells.open("utilization").fill(0.9);
    cells.open("power").fill(300);
    cells.open("powerLimit").fill(700);
    const clock = cells.open("clock");
    for (let cell = 0; cell < grid.cellCount; cell++)
      clock[cell] =
        (at === 0 && cell > 0.25 * grid.cellCount ? 690e6 : 1_950e6) + (cell % 4) * 10e6;
  }
  const [first] = speedSigns({ fleet, scope: fleet.gpus.slice(0, 1) });
  expect(first?.cause).toBe("stuck_clocks");
  expect(first?.evidence[0]?.sigmas).toBeGreaterThan(20);
});
