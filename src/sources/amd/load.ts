/** Utilization and memory usage of a card. */
import { gpu } from "../../model/catalogue/index.ts";
import { readSensor } from "../../machine/sysfs/read.ts";
import { present } from "../../machine/sysfs/read-result.ts";
import type { CardChannel } from "../cards.ts";
import { atMost } from "../checks.ts";
import { type AmdCardContext, fromFile, fromTable } from "./card-context.ts";

/**
 * The percent files take precedence over the table: on APUs the table's unit differs by chip, and some firmware reports 100 when idle.
 */
export function loadChannels(context: AmdCardContext): readonly CardChannel[] {
  const { files, initialMetrics } = context;
  const percent = (file: string): CardChannel["read"] => fromFile(context, file, 0.01);
  const channels: CardChannel[] = [];
  const add = (
    metric: CardChannel["metric"],
    file: string,
    pick: (readings: NonNullable<AmdCardContext["initialMetrics"]>) => number | undefined,
  ): void => {
    if (files.has(file)) channels.push({ metric, read: percent(file) });
    else if (initialMetrics !== undefined && pick(initialMetrics) !== undefined) {
      channels.push({ metric, read: fromTable(context, pick) });
    }
  };
  add(gpu.utilization, "gpu_busy_percent", ({ utilizationRatio }) => utilizationRatio);
  add(gpu.memoryControllerUtilization, "mem_busy_percent", (table) => table.memoryControllerRatio);
  add(gpu.videoUtilization, "vcn_busy_percent", ({ videoRatio }) => videoRatio);
  initialMetrics?.dieRatios.forEach((_, die) =>
    channels.push({
      metric: gpu.dieActivity,
      labels: { die: String(die) },
      read: fromTable(context, ({ dieRatios }) => dieRatios[die]),
    }),
  );
  return channels;
}

const pools = [
  ["vram", gpu.memoryUsed, gpu.memoryTotal],
  ["vis_vram", gpu.visibleMemoryUsed, gpu.visibleMemoryTotal],
  // On an APU this is the pool that programs use; its vram is a carve-out.
  ["gtt", gpu.sharedMemoryUsed, gpu.sharedMemoryTotal],
] as const;

export function memoryChannels(context: AmdCardContext): readonly CardChannel[] {
  const channels = pools.flatMap(([pool, used, total]): CardChannel[] => {
    if (!context.files.has(`mem_info_${pool}_total`)) return [];
    const readTotal = fromFile(context, `mem_info_${pool}_total`);
    const readUsed = atMost(fromFile(context, `mem_info_${pool}_used`), readTotal);
    return [
      { metric: used, read: readUsed },
      { metric: total, read: readTotal },
    ];
  });
  if (context.files.has("mem_info_vram_total")) {
    channels.push({ metric: gpu.memoryFree, read: () => readFree(context) });
  }
  return channels;
}

async function readFree({ card, fileAccess }: AmdCardContext): ReturnType<typeof readSensor> {
  const [total, used] = await Promise.all(
    ["total", "used"].map((which) =>
      readSensor(`${card.device}/mem_info_vram_${which}`, fileAccess),
    ),
  );
  if (total === undefined || used === undefined) throw new Error("BUG: two reads gave fewer");
  if (!total.ok) return total;
  return used.ok ? present(total.value - used.value) : used;
}
