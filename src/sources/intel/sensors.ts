/** Energy, power, temperatures, fans and voltage of an Intel GPU, from hwmon by label: `card` is the board, `pkg` the chip. */
import { gpu } from "../../model/catalogue/index.ts";
import type { HwmonChannel } from "../../machine/sysfs/hwmon.ts";
import {
  failed,
  mapReadResult,
  present,
  type ReadResult,
} from "../../machine/sysfs/read-result.ts";
import { type CardChannel, oncePerTick } from "../cards.ts";
import { unlessZero } from "../checks.ts";
import type { EnergyMeters, EnergyScope } from "./energy.ts";

const micro = 1e6;
const milli = 1e3;

/** i915 has a further folder per part (i915_gt0), whose energy is already included in the device's. */
function ownChannels(hwmon: readonly HwmonChannel[]): readonly HwmonChannel[] {
  return hwmon.filter(({ chip }) => chip === "i915" || chip === "xe");
}

export function sensorChannels(
  hwmon: readonly HwmonChannel[],
  meters: EnergyMeters,
): readonly CardChannel[] {
  const own = ownChannels(hwmon);
  return [
    ...energyChannels(own, meters),
    ...limitChannels(own),
    ...temperatureChannels(own),
    ...fanChannels(own),
    ...voltageChannels(own),
  ];
}

function scaled(channel: HwmonChannel, attribute: string, divisor: number): CardChannel["read"] {
  return async () => mapReadResult(await channel.read(attribute), (value) => value / divisor);
}

/** The scope of a counter or limit. i915 has no labels and counts the card; xe numbers the card 1 and the package 2. */
function scopeOf({ label, number }: HwmonChannel): EnergyScope | undefined {
  if (label === "") return number === 1 ? "board" : number === 2 ? "chip" : undefined;
  return label === "card" ? "board" : label === "pkg" ? "chip" : undefined;
}

/** There is no power file: power is derived from the growth of the energy counter. */
function energyChannels(
  own: readonly HwmonChannel[],
  meters: EnergyMeters,
): readonly CardChannel[] {
  const counters = new Map<EnergyScope, HwmonChannel>();
  for (const channel of own) {
    const scope = scopeOf(channel);
    if (channel.kind !== "energy" || !channel.attributes.has("input") || scope === undefined) {
      continue;
    }
    if (!counters.has(scope)) counters.set(scope, channel);
  }
  if (counters.size === 0) return [];
  const update = oncePerTick(async (timeMs) => {
    const readings = await Promise.all(
      [...counters].map(async ([scope, channel]) => {
        const energy = mapReadResult(await channel.read("input"), (value) => value / micro);
        return [scope, energy] as const;
      }),
    );
    meters.update(timeMs, new Map(readings));
  });
  const after =
    (read: () => ReadResult<number>): CardChannel["read"] =>
    async (timeMs) => {
      await update(timeMs);
      return read();
    };
  return [
    ...[...counters].flatMap(([scope, { label }]) => [
      { metric: powerOfScope[scope], read: after(() => meters.watts(scope)) },
      {
        metric: gpu.energyCounterActive,
        labels: { counter: label === "" ? "energy" : label, scope },
        read: after(() =>
          meters.scope === undefined ? failed : present(meters.scope === scope ? 1 : 0),
        ),
      },
    ]),
    { metric: gpu.energy, read: after(() => meters.joules()) },
  ];
}

const powerOfScope = { board: gpu.power, chip: gpu.chipPower } as const;

function limitChannels(own: readonly HwmonChannel[]): readonly CardChannel[] {
  const channels = own.filter(({ kind }) => kind === "power");
  const channel =
    channels.find((one) => scopeOf(one) === "board") ??
    channels.find((one) => scopeOf(one) === "chip");
  if (channel === undefined) return [];
  const limits = [
    ["max", gpu.powerLimit],
    ["rated_max", gpu.powerLimitDefault],
  ] as const;
  return limits.flatMap(([attribute, metric]) =>
    channel.attributes.has(attribute)
      ? [{ metric, read: unlessZero(scaled(channel, attribute, micro)) }]
      : [],
  );
}

const sensorOfLabel: Readonly<Record<string, string>> = { pkg: "edge", "": "edge", vram: "memory" };

function temperatureChannels(own: readonly HwmonChannel[]): readonly CardChannel[] {
  const bySensor = new Map<string, HwmonChannel>();
  for (const channel of own) {
    const sensor = sensorOfLabel[channel.label];
    if (channel.kind !== "temp" || sensor === undefined || bySensor.has(sensor)) continue;
    bySensor.set(sensor, channel);
  }
  return [...bySensor].flatMap(([sensor, channel]) => {
    const channels: CardChannel[] = [];
    const add = (
      attribute: string,
      metric: CardChannel["metric"],
      labels: CardChannel["labels"],
    ): void => {
      if (labels === undefined || !channel.attributes.has(attribute)) return;
      channels.push({ metric, labels, read: unlessZero(scaled(channel, attribute, milli)) });
    };
    add("input", gpu.temperature, { sensor });
    add("crit", gpu.temperatureLimit, { limit: sensor === "edge" ? "slowdown" : "memory" });
    add("emergency", gpu.temperatureLimit, sensor === "edge" ? { limit: "shutdown" } : undefined);
    return channels;
  });
}

function fanChannels(own: readonly HwmonChannel[]): readonly CardChannel[] {
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

function voltageChannels(own: readonly HwmonChannel[]): readonly CardChannel[] {
  const channel = own.find(({ kind, attributes }) => kind === "in" && attributes.has("input"));
  if (channel === undefined) return [];
  return [{ metric: gpu.voltage, labels: { rail: "gfx" }, read: scaled(channel, "input", milli) }];
}
