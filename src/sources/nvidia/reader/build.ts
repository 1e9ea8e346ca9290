/** Builds the cards with their readings and boards from the inventory. */
import type { Nvml } from "../nvml/library.ts";
import type { StartSettings } from "../protocol.ts";
import { LatestValues, type TierValues } from "./latest-values.ts";
import { createCardBuilder, type NvmlCard, staticEveryMs } from "./card.ts";
import { fastTasks, memoryUse } from "./fast.ts";
import { gpmTask } from "./gpm.ts";
import { instanceMetrics } from "./gpm-metrics.ts";
import type { ListedDevice } from "./inventory.ts";
import { processTasks } from "./processes.ts";
import type { SleepFiles } from "./sleep.ts";
import { slowTasks } from "./slow.ts";
import { SmClock } from "./sm-clock.ts";
import { memoryTotal, staticTasks } from "./static.ts";

export interface CardSet {
  readonly cards: readonly NvmlCard[];
  readonly boards: TierValues;
}

export function buildCards(
  nvml: Nvml,
  found: readonly ListedDevice[],
  settings: StartSettings,
  random: () => number,
  sleep: SleepFiles,
): CardSet {
  const patienceMs = Math.max(15_000, 3 * settings.slowEveryMs);
  const boards: TierValues = {
    fast: new LatestValues(patienceMs),
    slow: new LatestValues(patienceMs),
    static: new LatestValues(3 * staticEveryMs),
  };
  const cards: NvmlCard[] = [];
  for (const { device, handle, instance } of inOrder(found)) {
    const parent = cards.find((card) => card.device.uuid === instance?.parentUuid);
    if (instance !== undefined && parent === undefined) continue;
    const at = cards.length;
    cards.push({
      device,
      at,
      handle,
      upSlot: boards.fast.add("up", at),
      ...(sleep.together([device.pciBusId]) === "always-on"
        ? {}
        : { asleepSlot: boards.fast.add("asleep", at) }),
      fast: [],
      scheduler: [],
      processes: [],
      ...(instance === undefined ? { xidSlot: boards.slow.add("xidWatched", at) } : {}),
      ...(instance === undefined || parent === undefined
        ? {}
        : {
            instance: {
              parent,
              gpuInstance: instance.gpuInstance,
              computeInstance: instance.computeInstance,
            },
          }),
    });
  }
  for (const card of cards) {
    const bench = createCardBuilder(nvml, card, boards, settings, random);
    if (card.instance !== undefined) {
      const { parent, gpuInstance } = card.instance;
      const sample = (into: number): number =>
        nvml.nvmlGpmMigSampleGet(parent.handle, gpuInstance, into);
      card.fast.push(memoryUse(bench));
      card.scheduler.push(
        memoryTotal(bench),
        gpmTask(bench, sample, instanceMetrics),
        ...processTasks(bench),
      );
      continue;
    }
    card.fast.push(...fastTasks(bench));
    card.smClock = new SmClock(bench);
    card.scheduler.push(...slowTasks(bench), ...staticTasks(bench, cards));
  }
  for (const board of [boards.fast, boards.slow, boards.static]) board.seal();
  return { cards, boards };
}

/** Sorts by index, a GPU before its MIG instances. */
function inOrder(found: readonly ListedDevice[]): ListedDevice[] {
  return found.toSorted(
    (a, b) =>
      a.device.index - b.device.index ||
      Number(a.instance !== undefined) - Number(b.instance !== undefined) ||
      a.device.uuid.localeCompare(b.device.uuid),
  );
}
