// Tests one machine with a card of each generation, from T4 to GB300: what a card supports is reported, and everything else is
// absent, never 0. NVIDIA's own mock of NVML is not available to this repository (docs/decisions/0009-nvml-in-a-process.md); the
// cards here follow its profiles: memory, power, PCIe and thermal limits, ECC and row remapping, NVLink, fabric, MIG, GPM and
// C2C. XID events are in values.test.ts.

import { expect, test } from "vitest";

import { pick, read, useStub } from "./harness.ts";

const nvml = useStub();
const gibibyte = 2 ** 30;
const absent = "unsupported";

interface CardShape {
  readonly name: string;
  readonly memoryGibibytes: number;
  readonly watts: number;
  readonly pcieGeneration: number;
  readonly slowdownCelsius: number;
  readonly links: number;
  /** True on Hopper and newer. */
  readonly hasGpm: boolean;
  /** Number of MIG instances; 0 if the card supports MIG and has none, undefined if it does not support MIG. */
  readonly mig: number | undefined;
  /** Datacentre cards remap rows from Ampere on; older ones retire pages. */
  readonly remapsRows: boolean;
  /** Fabric state on an NVSwitch machine; undefined on others. */
  readonly fabric: number | undefined;
  /** MiB per second between processor and GPU, on the superchips. */
  readonly c2cMebibytes: number | undefined;
}

const plain = { hasGpm: false, mig: undefined, fabric: undefined, c2cMebibytes: undefined };
const cards: readonly CardShape[] = [
  {
    ...plain,
    name: "NVIDIA T4",
    memoryGibibytes: 16,
    watts: 70,
    pcieGeneration: 3,
    slowdownCelsius: 93,
    links: 0,
    remapsRows: false,
  },
  {
    ...plain,
    name: "NVIDIA L40S",
    memoryGibibytes: 48,
    watts: 350,
    pcieGeneration: 4,
    slowdownCelsius: 91,
    links: 0,
    remapsRows: true,
  },
  {
    ...plain,
    name: "NVIDIA A100-SXM4-40GB",
    memoryGibibytes: 40,
    watts: 400,
    pcieGeneration: 4,
    slowdownCelsius: 92,
    links: 12,
    mig: 0,
    remapsRows: true,
  },
  {
    name: "NVIDIA H100 80GB HBM3",
    memoryGibibytes: 80,
    watts: 700,
    pcieGeneration: 5,
    slowdownCelsius: 89,
    links: 18,
    hasGpm: true,
    mig: 2,
    remapsRows: true,
    fabric: 3,
    c2cMebibytes: undefined,
  },
  {
    name: "NVIDIA B200",
    memoryGibibytes: 180,
    watts: 1_000,
    pcieGeneration: 6,
    slowdownCelsius: 90,
    links: 18,
    hasGpm: true,
    mig: 0,
    remapsRows: true,
    fabric: 3,
    c2cMebibytes: undefined,
  },
  {
    name: "NVIDIA GB200",
    memoryGibibytes: 186,
    watts: 1_200,
    pcieGeneration: 6,
    slowdownCelsius: 90,
    links: 18,
    hasGpm: true,
    mig: 0,
    remapsRows: true,
    fabric: 3,
    c2cMebibytes: 1_000,
  },
  {
    name: "NVIDIA GB300",
    memoryGibibytes: 279,
    watts: 1_400,
    pcieGeneration: 6,
    slowdownCelsius: 90,
    links: 18,
    hasGpm: true,
    mig: 0,
    remapsRows: true,
    fabric: 2,
    c2cMebibytes: 2_000,
  },
];

function linesOf(card: CardShape, at: number): readonly string[] {
  return [
    `${at}.name ${card.name}`,
    `${at}.memory_total ${card.memoryGibibytes * gibibyte}`,
    `${at}.power_limit ${card.watts * 1_000}`,
    `${at}.pcie_generation ${card.pcieGeneration}`,
    `${at}.limit_slowdown ${card.slowdownCelsius}`,
    ...(card.links === 0 ? [] : [`link ${at} ${card.links}`]),
    ...(card.hasGpm ? [`${at}.gpm_2 ${10 + at}`] : [`${at}.gpm 0`]),
    ...(card.mig === undefined ? [`${at}.mig_mode.rc 3`] : []),
    ...(card.mig ? [`mig ${at} ${card.mig}`] : []),
    ...(card.remapsRows ? [`${at}.field_142 ${at}`] : []),
    card.fabric === undefined ? `${at}.fabric.rc 3` : `${at}.fabric ${card.fabric}`,
    ...(card.c2cMebibytes === undefined ? [] : [`${at}.gpm_100 ${card.c2cMebibytes}`]),
  ];
}

test("a card of each generation reports what it has, and lacks what it does not have", async () => {
  nvml.stub.script(`gpus ${cards.length}`, ...cards.flatMap(linesOf));
  const source = nvml.open();
  const slow = await read(source, "slow");
  const fixed = await read(source, "static");
  const whole = source.devices().filter(({ parent }) => parent === undefined);
  expect(whole.map(({ model }) => model)).toEqual(cards.map(({ name }) => name));
  cards.forEach((card, at) => {
    const wantedSlow: Record<string, number | string> = {
      [`${at} gpu_power_limit_watts{}`]: card.watts,
      [`${at} gpu_pcie_link_generation{}`]: card.pcieGeneration,
      [`${at} gpu_sm_activity_ratio{}`]: card.hasGpm ? (10 + at) / 100 : absent,
      [`${at} gpu_mig_enabled{}`]: card.mig === undefined ? absent : Number(card.mig > 0),
      [`${at} gpu_remapped_rows{cause=corrected}`]: card.remapsRows ? at : absent,
      [`${at} gpu_fabric_state{}`]: card.fabric ?? absent,
    };
    expect(pick(slow, wantedSlow), card.name).toEqual(wantedSlow);
    const wantedFixed: Record<string, number | string> = {
      [`${at} gpu_memory_total_bytes{}`]: card.memoryGibibytes * gibibyte,
      [`${at} gpu_temperature_limit_celsius{limit=slowdown}`]: card.slowdownCelsius,
    };
    expect(pick(fixed, wantedFixed), card.name).toEqual(wantedFixed);
    const named = (start: string): string[] =>
      [...slow.keys()].filter((name) => name.startsWith(`${at} ${start}`));
    expect(named("gpu_interconnect_up{"), card.name).toHaveLength(card.links);
    const c2c = named("gpu_c2c_throughput_bytes_per_second{").map((name) => slow.get(name));
    if (card.c2cMebibytes === undefined) expect(c2c.every((value) => value === absent)).toBe(true);
    else expect(c2c, card.name).toContain(card.c2cMebibytes * 2 ** 20);
  });
  const instances = source.devices().filter(({ parent }) => parent !== undefined);
  expect(instances).toHaveLength(2);
  expect(new Set(instances.map(({ parent }) => parent))).toEqual(new Set([whole[3]?.uuid]));
});
