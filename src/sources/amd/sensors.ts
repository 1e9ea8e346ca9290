/** Temperatures, clocks, voltages and fans: from hwmon by label, and from the metrics table if hwmon lacks them. */
import { gpu } from "../../model/catalogue/index.ts";
import type { HwmonChannel } from "../../machine/sysfs/hwmon.ts";
import { readText } from "../../machine/sysfs/read.ts";
import { asleep, failed, present, type ReadResult } from "../../machine/sysfs/read-result.ts";
import type { CardChannel } from "../cards.ts";
import { unlessZero } from "../checks.ts";
import { type AmdCardContext, fromHwmon, fromTable } from "./card-context.ts";
import { parseHighestClock } from "./parse.ts";

const sensorOfLabel: Readonly<Record<string, string>> = {
  edge: "edge",
  junction: "hotspot",
  mem: "memory",
};
const clockOfLabel: Readonly<Record<string, string>> = { sclk: "graphics", mclk: "memory" };
const railOfLabel: Readonly<Record<string, string>> = {
  vddgfx: "gfx",
  vddnb: "soc",
  vddboard: "board",
};

export function temperatureChannels(context: AmdCardContext): readonly CardChannel[] {
  return namedChannels(context, {
    metric: gpu.temperature,
    kind: "temp",
    label: "sensor",
    nameOf: sensorOfLabel,
    read: (channel) => unlessZero(fromHwmon(channel, "input", 0.001)),
    table: "temperatureCelsius",
  });
}

export function clockChannels(context: AmdCardContext): readonly CardChannel[] {
  return namedChannels(context, {
    metric: gpu.clock,
    kind: "freq",
    label: "domain",
    nameOf: clockOfLabel,
    read: (channel) => fromHwmon(channel, "input", 1),
    table: "clockHertz",
  });
}

export function voltageChannels(context: AmdCardContext): readonly CardChannel[] {
  return namedChannels(context, {
    metric: gpu.voltage,
    kind: "in",
    label: "rail",
    nameOf: railOfLabel,
    read: (channel) => fromHwmon(channel, "input", 0.001),
    table: "voltageVolts",
  }).map((channel) => ({ ...channel, read: unlessGated(channel.read) }));
}

/** A rail that is switched off reads 0 to 15 mV, or 6 if the driver uses the wrong sensor: nothing runs at such a voltage. */
const gatedBelowVolts = 0.1;

function unlessGated(read: CardChannel["read"]): CardChannel["read"] {
  return async (timeMs): Promise<ReadResult<number>> => {
    const volts = await read(timeMs);
    return volts.ok && volts.value < gatedBelowVolts ? asleep : volts;
  };
}

interface NamedSensors {
  readonly metric: CardChannel["metric"];
  readonly kind: HwmonChannel["kind"];
  readonly label: string;
  readonly nameOf: Readonly<Record<string, string>>;
  readonly read: (channel: HwmonChannel) => CardChannel["read"];
  readonly table: "temperatureCelsius" | "clockHertz" | "voltageVolts";
}

function namedChannels(
  context: AmdCardContext,
  { metric, kind, label, nameOf, read, table }: NamedSensors,
): readonly CardChannel[] {
  const byName = new Map<string, CardChannel["read"]>();
  for (const channel of context.hwmon) {
    const name = nameOf[channel.label];
    if (channel.kind !== kind || name === undefined || !channel.attributes.has("input")) continue;
    if (!byName.has(name)) byName.set(name, read(channel));
  }
  for (const [name, value] of Object.entries(context.initialMetrics?.[table] ?? {})) {
    if (value === undefined || byName.has(name)) continue;
    byName.set(
      name,
      fromTable(
        context,
        (readings) => (readings[table] as Record<string, number | undefined>)[name],
      ),
    );
  }
  return [...byName].map(([name, reader]) => ({ metric, labels: { [label]: name }, read: reader }));
}

/** The hotspot's limits if it has a sensor, since it throttles the card; otherwise the edge's. */
export function temperatureLimitChannels(context: AmdCardContext): readonly CardChannel[] {
  const find = (label: string): HwmonChannel | undefined =>
    context.hwmon.find((channel) => channel.kind === "temp" && channel.label === label);
  const core = find("junction") ?? find("edge");
  const limits: readonly (readonly [string, HwmonChannel | undefined, string])[] = [
    ["slowdown", core, "crit"],
    ["shutdown", core, "emergency"],
    ["memory", find("mem"), "crit"],
  ];
  return limits.flatMap(([limit, channel, attribute]) =>
    channel?.attributes.has(attribute) === true
      ? [
          {
            metric: gpu.temperatureLimit,
            labels: { limit },
            read: fromHwmon(channel, attribute, 0.001),
          },
        ]
      : [],
  );
}

const clockTables = [
  ["pp_dpm_sclk", "graphics"],
  ["pp_dpm_mclk", "memory"],
  ["pp_dpm_vclk", "video"],
  ["pp_dpm_socclk", "soc"],
  ["pp_dpm_fclk", "fabric"],
] as const;

export function highestClockChannels(context: AmdCardContext): readonly CardChannel[] {
  return clockTables.flatMap(([file, domain]) =>
    context.files.has(file)
      ? [
          {
            metric: gpu.clockMax,
            labels: { domain },
            read: async () => {
              const text = await readText(
                `${context.card.device}/${file}`,
                4_096,
                context.fileAccess,
              );
              return text.ok ? parseHighestClock(text.value) : text;
            },
          },
        ]
      : [],
  );
}

/** Passive cards and APUs have no fan. A fan that is stopped at low load reports 0. */
export function fanChannels(context: AmdCardContext): readonly CardChannel[] {
  const channels: CardChannel[] = [];
  for (const channel of context.hwmon) {
    const labels = { fan: String(channel.number) };
    if (channel.kind === "fan" && channel.attributes.has("input")) {
      channels.push({ metric: gpu.fanRpm, labels, read: fromHwmon(channel, "input", 1) });
    }
    if (channel.kind === "pwm" && channel.attributes.has("")) {
      channels.push({ metric: gpu.fanSpeed, labels, read: () => readDuty(channel) });
    }
  }
  const hasFan = channels.some(({ metric }) => metric === gpu.fanRpm);
  if (!hasFan && !context.isApu && (context.initialMetrics?.fanRpm ?? 0) > 0) {
    const read = fromTable(context, ({ fanRpm }) => fanRpm);
    channels.push({ metric: gpu.fanRpm, labels: { fan: "1" }, read });
  }
  return channels;
}

const fullDuty = 255;

/** A duty above its maximum is invalid; clamping it to 1 would be a guess. */
async function readDuty(channel: HwmonChannel): Promise<ReadResult<number>> {
  const [duty, max] = await Promise.all([channel.read(""), channel.read("max")]);
  if (!duty.ok) return duty;
  const full = max.ok && max.value > 0 ? max.value : fullDuty;
  return duty.value > full ? failed : present(duty.value / full);
}
