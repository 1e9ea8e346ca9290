/** The first panels of a new board, as an example. */
import type { BoardPanel } from "../../../../src/view/board/board.ts";

const gpu = "{{host}} #{{gpu}}";

export const starterPanels: readonly BoardPanel[] = [
  stat("panel-1", "GPUs that report", 'sum(gpu_up{host=~"$host"})'),
  stat("panel-2", "Total power", 'sum(gpu_power_watts{host=~"$host"})', "watts"),
  stat("panel-3", "Mean utilisation", 'avg(gpu_utilization_ratio{host=~"$host"})', "ratio"),
  stat("panel-4", "Hottest sensor", 'max(gpu_temperature_celsius{host=~"$host"})', "celsius"),
  chart("panel-5", "Utilisation", 'gpu_utilization_ratio{host=~"$host"}'),
  chart("panel-6", "Power", 'gpu_power_watts{host=~"$host"}'),
];

function stat(id: string, title: string, query: string, unit?: BoardPanel["unit"]): BoardPanel {
  const own = unit === undefined ? {} : { unit };
  return { id, title, kind: "stat", queries: [{ query }], ...own, columns: 3, rows: 1 };
}

function chart(id: string, title: string, query: string): BoardPanel {
  return { id, title, kind: "timeseries", queries: [{ query, legend: gpu }], columns: 6, rows: 4 };
}
