/** Energy, power, temperatures, fans and voltage of an Intel GPU, from hwmon by label: `card` is the board, `pkg` the chip. */
import { gpu } from "../../model/catalogue/index.ts";
import type { HwmonChannel } from "../../sysfs/hwmon.ts";
import type { Reading } from "../../sysfs/reading.ts";
import { mapReading, unsupported } from "../../sysfs/reading.ts";
import type { Channel } from "../cards.ts";
import { oncePerTick } from "../cards.ts";
import type { Differences } from "./difference.ts";

const micro = 1e6;
const milli = 1e3;

/** i915 has a second folder a part (i915_gt0), whose energy is in the device's already. */
export function ownChannels(hwmon: readonly HwmonChannel[]): readonly HwmonChannel[] {
  return hwmon.filter(({ chip }) => chip === "i915" || chip === "xe");
}

export function sensorChannels(
  hwmon: readonly HwmonChannel[],
  differences: Differences,
): readonly Channel[] {
  const own = ownChannels(hwmon);
  return [
    ...energyChannels(own, differences),
    ...limitChannels(own),
    ...temperatureChannels(own),
    ...fanChannels(own),
    ...voltageChannels(own),
  ];
}

function scaled(channel: HwmonChannel, attribute: string, divisor: number): Channel["read"] {
  return async () => mapReading(await channel.read(attribute), (value) => value / divisor);
}

/** i915 gives no label and counts the card. */
const isBoard = ({ label }: HwmonChannel): boolean => label === "card" || label === "";

/** There is no power file: power is how fast the energy counter grows. */
function energyChannels(
  own: readonly HwmonChannel[],
  differences: Differences,
): readonly Channel[] {
  const meters = own
    .filter(({ kind, attributes }) => kind === "energy" && attributes.has("input"))
    .map((channel) => ({
      channel,
      growth: differences.of(`energy ${channel.label}`),
      joules: oncePerTick(async () =>
        mapReading(await channel.read("input"), (value) => value / micro),
      ),
    }));
  const board = meters.find(({ channel }) => isBoard(channel));
  const chip = meters.find(({ channel }) => channel.label === "pkg");
  const power =
    ({ growth, joules }: (typeof meters)[number]): Channel["read"] =>
    async (timeMs): Promise<Reading<number>> => {
      const energy = await joules(timeMs);
      return energy.ok ? growth.perSecond(timeMs, energy.value) : energy;
    };
  const total = board ?? chip;
  return [
    ...(board === undefined ? [] : [{ metric: gpu.power, read: power(board) }]),
    ...(chip === undefined ? [] : [{ metric: gpu.chipPower, read: power(chip) }]),
    ...(total === undefined ? [] : [{ metric: gpu.energy, read: total.joules }]),
  ];
}

function limitChannels(own: readonly HwmonChannel[]): readonly Channel[] {
  const channels = own.filter(({ kind }) => kind === "power");
  const channel = channels.find(isBoard) ?? channels.find(({ label }) => label === "pkg");
  if (channel === undefined) return [];
  const limits = [
    ["max", gpu.powerLimit],
    ["rated_max", gpu.powerLimitDefault],
  ] as const;
  return limits.flatMap(([attribute, metric]) =>
    channel.attributes.has(attribute)
      ? [{ metric, read: notZero(scaled(channel, attribute, micro)) }]
      : [],
  );
}

/** A limit of 0 is one that is switched off. */
function notZero(read: Channel["read"]): Channel["read"] {
  return async (timeMs) => {
    const reading = await read(timeMs);
    return reading.ok && reading.value === 0 ? unsupported : reading;
  };
}

const sensorOfLabel: Readonly<Record<string, string>> = { pkg: "edge", "": "edge", vram: "memory" };

function temperatureChannels(own: readonly HwmonChannel[]): readonly Channel[] {
  const bySensor = new Map<string, HwmonChannel>();
  for (const channel of own) {
    const sensor = sensorOfLabel[channel.label];
    if (channel.kind !== "temp" || sensor === undefined || bySensor.has(sensor)) continue;
    bySensor.set(sensor, channel);
  }
  return [...bySensor].flatMap(([sensor, channel]) => {
    const channels: Channel[] = [];
    const add = (attribute: string, metric: Channel["metric"], labels: Channel["labels"]): void => {
      if (labels === undefined || !channel.attributes.has(attribute)) return;
      channels.push({ metric, labels, read: scaled(channel, attribute, milli) });
    };
    add("input", gpu.temperature, { sensor });
    add("crit", gpu.temperatureLimit, { limit: sensor === "edge" ? "slowdown" : "memory" });
    add("emergency", gpu.temperatureLimit, sensor === "edge" ? { limit: "shutdown" } : undefined);
    return channels;
  });
}

function fanChannels(own: readonly HwmonChannel[]): readonly Channel[] {
  return own.flatMap((channel) =>
    channel.kind === "fan" && channel.attributes.has("input")
      ? [
          {
            metric: gpu.fanRpm,
            labels: { fan: String(channel.number) },
            read: scaled(channel, "input", 1),
          },
        ]
      : [],
  );
}

function voltageChannels(own: readonly HwmonChannel[]): readonly Channel[] {
  const channel = own.find(({ kind, attributes }) => kind === "in" && attributes.has("input"));
  if (channel === undefined) return [];
  return [{ metric: gpu.voltage, labels: { rail: "gfx" }, read: scaled(channel, "input", milli) }];
}
