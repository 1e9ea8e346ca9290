/** Power, its limits, energy and throttling. What the power reading covers depends on the card, see family.ts. */
import { gpu } from "../../model/catalogue/index.ts";
import type { HwmonChannel } from "../../machine/sysfs/hwmon.ts";
import { failed, present, unsupported } from "../../machine/sysfs/read-result.ts";
import type { CardChannel } from "../cards.ts";
import { type AmdCardContext, fromHwmon, fromTable } from "./card-context.ts";
import type { EnergyStep } from "./gpu-metrics/energy.ts";
import type { PowerRail } from "./gpu-metrics/interpret.ts";
import { isThrottled, reportableReasons } from "./gpu-metrics/throttle.ts";

const microwatts = 1e-6;
const railOrder: readonly PowerRail[] = ["cpu", "soc", "gfx", "npu"];

/** Van Gogh has two power channels, of which slowPPT is the sustained one. Without labels the first one is used. */
function mainPower(context: AmdCardContext): HwmonChannel | undefined {
  const channels = context.hwmon.filter(({ kind }) => kind === "power");
  return (
    channels.find(({ label }) => label === "ppt" || label === "slowppt") ??
    channels.find(({ label }) => label === "") ??
    channels.find(({ label }) => label !== "fastppt")
  );
}

export function powerChannels(context: AmdCardContext): readonly CardChannel[] {
  const isWhole = context.isApu || context.family.power === "board";
  const metric = isWhole ? gpu.power : gpu.chipPower;
  const main = mainPower(context);
  const channels: CardChannel[] = [];
  const attribute = ["average", "input"].find((name) => main?.attributes.has(name));
  if (main !== undefined && attribute !== undefined) {
    channels.push({ metric, read: fromHwmon(main, attribute, microwatts) });
    if (isWhole && main.attributes.has("input")) {
      channels.push({ metric: gpu.powerInstant, read: fromHwmon(main, "input", microwatts) });
    }
  } else if (context.initialMetrics?.powerWatts !== undefined) {
    channels.push({ metric, read: fromTable(context, ({ powerWatts }) => powerWatts) });
  }
  for (const rail of railOrder) {
    if (context.initialMetrics?.railPowerWatts[rail] === undefined) continue;
    const read = fromTable(context, ({ railPowerWatts }) => railPowerWatts[rail]);
    channels.push({ metric: gpu.railPower, labels: { rail }, read });
  }
  return channels;
}

export function powerLimitChannels(context: AmdCardContext): readonly CardChannel[] {
  const main = mainPower(context);
  if (main === undefined) return [];
  const limits = [
    ["cap", gpu.powerLimit],
    ["cap_min", gpu.powerLimitMin],
    ["cap_max", gpu.powerLimitMax],
    ["cap_default", gpu.powerLimitDefault],
  ] as const;
  return limits.flatMap(([attribute, metric]) =>
    main.attributes.has(attribute)
      ? [{ metric, read: fromHwmon(main, attribute, microwatts) }]
      : [],
  );
}

/** A counter that reads 0 is no counter, as on RDNA 3 and 4. */
export function energyChannels(context: AmdCardContext, step: EnergyStep): readonly CardChannel[] {
  if ((context.initialMetrics?.energySteps ?? 0) === 0) return [];
  return [
    {
      metric: gpu.energy,
      read: async (timeMs) => {
        const table = await context.metrics.read(timeMs);
        if (!table.ok) return table;
        const { energySteps, powerWatts } = table.value;
        if (energySteps === undefined) return failed;
        const joules = step.read(timeMs, energySteps, powerWatts);
        return joules === undefined ? failed : present(joules);
      },
    },
  ];
}

export function throttleChannels(context: AmdCardContext): readonly CardChannel[] {
  const throttle = context.initialMetrics?.throttle;
  if (throttle === undefined) return [];
  return reportableReasons(throttle).map((reason) => ({
    metric: gpu.throttleActive,
    labels: { reason },
    read: async (timeMs) => {
      const table = await context.metrics.read(timeMs);
      if (!table.ok) return table;
      if (table.value.throttle === undefined) return unsupported;
      const active = isThrottled(reason, table.value.throttle, context.metrics.before?.throttle);
      return active === undefined ? failed : present(active ? 1 : 0);
    },
  }));
}
