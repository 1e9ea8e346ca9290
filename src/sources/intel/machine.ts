/** The Intel GPUs of a machine with the drivers i915 and xe. */
import { gpu } from "../../model/catalogue/index.ts";
import { fallbackUuid } from "../../model/device.ts";
import { DrmScan } from "../../machine/owners/fdinfo-scan.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import type { DrmCard } from "../../machine/sysfs/drm.ts";
import { readHwmon } from "../../machine/sysfs/hwmon.ts";
import { findSlotPort, readSleepState } from "../../machine/sysfs/pci.ts";
import { listDir, readSensor, readText } from "../../machine/sysfs/read.ts";
import { type Card, type CardChannel, type CardSeries, CardSource, oncePerTick } from "../cards.ts";
import { atMost } from "../checks.ts";
import {
  DrmCardRegistry,
  type DrmMachine,
  type DrmVendor,
  drmNumbers,
  openDrmMachine,
  pcieErrorChannels,
  pcieLinkChannels,
} from "../drm-cards.ts";
import { holderChannels, latestOf, userChannels } from "../gpu-users.ts";
import { IntelClients } from "./clients.ts";
import { EnergyMeters } from "./energy.ts";
import { awakeChannels, clockChannels, CounterRates, throttleChannels } from "./graphics.ts";
import { nameIntel } from "./names.ts";
import { findParts } from "./parts.ts";
import { sensorChannels } from "./sensors.ts";
import type { PolledSource, SourceContext } from "../source.ts";

/** One card's counters as of the last read. */
interface CounterState {
  readonly differences: CounterRates;
  readonly meters: EnergyMeters;
}

/** PCI address of every integrated Intel GPU. */
const integratedAddress = "0000:00:02.0";

export const intelVendor: DrmVendor = { vendorId: 0x8086, drivers: ["i915", "xe"] };

export async function openIntel(
  { processes }: { readonly processes: boolean },
  context: SourceContext,
  fileAccess: FileAccess,
): Promise<PolledSource> {
  const drm = await openDrmMachine(context, fileAccess);
  const machine = new IntelMachine(drm, processes);
  const { host, nowMs } = context;
  return CardSource.open({
    host,
    nowMs,
    onOwnerChange: (listener) => drm.resolver.onChange(listener),
    discover: () => machine.registry.discover(),
  });
}

class IntelMachine {
  readonly registry: DrmCardRegistry;
  readonly #machine: DrmMachine;
  readonly #withProcesses: boolean;
  readonly #scan: DrmScan;
  readonly #scanProcesses: (timeMs: number) => ReturnType<DrmScan["revisit"]>;

  constructor(machine: DrmMachine, withProcesses: boolean) {
    this.#machine = machine;
    this.#withProcesses = withProcesses;
    this.registry = new DrmCardRegistry(machine, intelVendor, (key, card) =>
      this.#openCard(key, card),
    );
    const scan = new DrmScan(machine.procfs, machine.fileAccess);
    this.#scan = scan;
    this.#scanProcesses = oncePerTick(latestOf((timeMs) => scan.scan(timeMs)));
  }

  async #openCard(key: string, card: DrmCard): Promise<Card> {
    const { procfs, fileAccess, resolver, machine } = this.#machine;
    const kernel = await readText(`${procfs}/sys/kernel/osrelease`, 128, fileAccess);
    const isDiscrete = card.pciBusId !== integratedAddress;
    const clients = new IntelClients(card.pciBusId, isDiscrete, this.#scan);
    const state = { differences: new CounterRates(), meters: new EnergyMeters() };
    const uuid = fallbackUuid("intel", card.pciBusId, machine);
    const device = {
      uuid,
      index: 0,
      vendor: "intel",
      model: nameIntel(card.deviceId),
      simulated: false,
      pciBusId: card.pciBusId,
      driver: kernel.ok && kernel.value !== "" ? kernel.value : undefined,
    };
    const facts = { ...device, ...drmNumbers(card) };
    return {
      key,
      device,
      expected,
      sleepState: () => readSleepState(card.device, fileAccess),
      findChannels: () => this.#findChannels(card, clients, state),
      findHolders: () => holderChannels(facts, resolver),
      findUsers: async (timeMs) => {
        const scan = await this.#scanProcesses(timeMs);
        if (scan === undefined) return [];
        const isWhole = scan.denied === 0;
        const list = clients.processes(timeMs, scan);
        const use = { device: facts, processes: list, isWhole };
        const users = await userChannels(use, resolver, this.#withProcesses);
        return [...users, ...clients.engineChannels(isWhole)];
      },
    };
  }

  async #findChannels(
    card: DrmCard,
    clients: IntelClients,
    { differences, meters }: CounterState,
  ): Promise<readonly CardChannel[]> {
    const { sysfs, fileAccess } = this.#machine;
    const folder = `${sysfs}/class/drm/${card.name}`;
    const [parts, hwmon] = await Promise.all([
      findParts(card, folder, fileAccess),
      readHwmon(card.device, fileAccess),
    ]);
    const board = clients.isDiscrete ? await boardChannels(card, folder, fileAccess) : [];
    const total = board.find(({ metric }) => metric === gpu.memoryTotal);
    return [
      ...clients
        .channels()
        .map((channel) =>
          channel.metric === gpu.memoryUsed && total !== undefined
            ? { ...channel, read: atMost(channel.read, total.read) }
            : channel,
        ),
      ...clockChannels(parts, fileAccess),
      ...awakeChannels(parts, fileAccess, differences),
      ...throttleChannels(parts, fileAccess),
      ...sensorChannels(hwmon, meters),
      ...board,
    ];
  }
}

/** Channels that only a card in a slot has. */
async function boardChannels(
  card: DrmCard,
  folder: string,
  fileAccess: FileAccess,
): Promise<readonly CardChannel[]> {
  const [port, names, cardNames, tile] = await Promise.all([
    findSlotPort(card.device, fileAccess),
    listDir(card.device, fileAccess),
    listDir(folder, fileAccess),
    listDir(`${card.device}/tile0`, fileAccess),
  ]);
  const files = new Set(names.ok ? names.value : []);
  const channels = [
    ...pcieLinkChannels(port, files, fileAccess),
    ...pcieErrorChannels(card.device, files, fileAccess),
  ];
  const memoryFile =
    cardNames.ok && cardNames.value.includes("lmem_total_bytes")
      ? `${folder}/lmem_total_bytes`
      : tile.ok && tile.value.includes("physical_vram_size_bytes")
        ? `${card.device}/tile0/physical_vram_size_bytes`
        : undefined;
  if (memoryFile !== undefined) {
    channels.push({ metric: gpu.memoryTotal, read: () => readSensor(memoryFile, fileAccess) });
  }
  return channels;
}

const expected: readonly CardSeries[] = [
  { metric: gpu.utilization },
  { metric: gpu.clock, labels: { domain: "graphics" } },
  { metric: gpu.clockMax, labels: { domain: "graphics" } },
];
