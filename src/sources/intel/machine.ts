/** The Intel GPUs of a machine, of the drivers i915 and xe. */
import { gpu } from "../../model/catalogue/index.ts";
import type { Log } from "../../base/log.ts";
import { fallbackUuid } from "../../model/device.ts";
import { DrmScan } from "../../machine/owners/fdinfo-scan.ts";
import type { OwnerResolver } from "../../machine/owners/resolver.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { type DrmCard, findDrmCards, warnUnidentified } from "../../machine/sysfs/drm.ts";
import { readHwmon } from "../../machine/sysfs/hwmon.ts";
import {
  aerSeverities,
  findSlotPort,
  readAerTotal,
  readLinkGeneration,
  readLinkWidth,
  readSleepState,
} from "../../machine/sysfs/pci.ts";
import { listDir, readSensor, readText } from "../../machine/sysfs/read.ts";
import { type Card, type CardChannel, type CardSeries, oncePerTick } from "../cards.ts";
import { atMost } from "../checks.ts";
import { latestOf, userChannels } from "../gpu-users.ts";
import { IntelClients } from "./clients.ts";
import { CounterRates } from "./counter-rate.ts";
import { EnergyMeters } from "./energy.ts";
import { awakeChannels, clockChannels, throttleChannels } from "./graphics.ts";
import { intelVendorId, nameIntel } from "./names.ts";
import { findParts } from "./parts.ts";
import { sensorChannels } from "./sensors.ts";

export interface IntelMachineOptions {
  readonly sysfs: string;
  readonly procfs: string;
  readonly fileAccess: FileAccess;
  readonly resolver: OwnerResolver;
  readonly processes: boolean;
  /** Of `machineIdentity`: the driver reports no UUID. */
  readonly machine: string;
  readonly log: Log;
}

/** What one card's counters were at the last look. */
interface CounterState {
  readonly differences: CounterRates;
  readonly meters: EnergyMeters;
}

const scanPatienceMs = 300;
const drivers = new Set(["i915", "xe"]);
/** Where every integrated Intel GPU sits. */
const integratedAddress = "0000:00:02.0";

export function isIntelDriver(driver: string): boolean {
  return drivers.has(driver);
}

export class IntelMachine {
  readonly #options: IntelMachineOptions;
  readonly #cards = new Map<string, Card>();
  readonly #warned = new Set<string>();
  readonly #scan: DrmScan;
  readonly #visit: (timeMs: number) => ReturnType<DrmScan["revisit"]>;

  constructor(options: IntelMachineOptions) {
    this.#options = options;
    const scan = new DrmScan(options.procfs, options.fileAccess);
    this.#scan = scan;
    this.#visit = oncePerTick(latestOf((timeMs) => scan.scan(timeMs), scanPatienceMs));
  }

  async discover(): Promise<readonly Card[]> {
    const { sysfs, fileAccess, log } = this.#options;
    const { cards, unidentified } = await findDrmCards(sysfs, intelVendorId, fileAccess);
    warnUnidentified(unidentified, this.#warned, log);
    const found: Card[] = [];
    for (const card of cards.filter(({ driver }) => isIntelDriver(driver))) {
      const key = `${card.name} ${card.pciBusId}`;
      const known = this.#cards.get(key) ?? (await this.#meet(key, card));
      this.#cards.set(key, known);
      found.push(known);
    }
    return found;
  }

  async #meet(key: string, card: DrmCard): Promise<Card> {
    const { procfs, fileAccess, resolver, processes, machine } = this.#options;
    const kernel = await readText(`${procfs}/sys/kernel/osrelease`, 128, fileAccess);
    const isDiscrete = card.pciBusId !== integratedAddress;
    const clients = new IntelClients(card.pciBusId, isDiscrete, this.#scan);
    const state = { differences: new CounterRates(), meters: new EnergyMeters() };
    const uuid = fallbackUuid("intel", card.pciBusId, machine);
    return {
      key,
      device: {
        uuid,
        index: 0,
        vendor: "intel",
        model: nameIntel(card.deviceId),
        simulated: false,
        pciBusId: card.pciBusId,
        ...(kernel.ok && kernel.value !== "" ? { driver: kernel.value } : {}),
      },
      expected,
      sleepState: () => readSleepState(card.device, fileAccess),
      findChannels: () => this.#findChannels(card, clients, state),
      findUsers: async (timeMs) => {
        const scan = await this.#visit(timeMs);
        if (scan === undefined) return [];
        const isWhole = scan.denied === 0;
        const list = clients.processes(timeMs, scan);
        const users = await userChannels({ uuid, processes: list, isWhole }, resolver, processes);
        return [...users, ...clients.engineChannels(isWhole)];
      },
    };
  }

  async #findChannels(
    card: DrmCard,
    clients: IntelClients,
    { differences, meters }: CounterState,
  ): Promise<readonly CardChannel[]> {
    const { sysfs, fileAccess } = this.#options;
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

/** What only a card in a slot has. */
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
  const channels: CardChannel[] = [];
  if (files.has("current_link_speed")) {
    channels.push(
      {
        metric: gpu.pcieLinkGeneration,
        read: () => readLinkGeneration(port, "current", fileAccess),
      },
      { metric: gpu.pcieLinkWidth, read: () => readLinkWidth(port, "current", fileAccess) },
    );
  }
  if (files.has("max_link_speed")) {
    channels.push(
      {
        metric: gpu.pcieLinkGenerationMax,
        read: () => readLinkGeneration(port, "max", fileAccess),
      },
      { metric: gpu.pcieLinkWidthMax, read: () => readLinkWidth(port, "max", fileAccess) },
    );
  }
  for (const severity of aerSeverities) {
    if (!files.has(`aer_dev_${severity}`)) continue;
    const read: CardChannel["read"] = () => readAerTotal(card.device, severity, fileAccess);
    channels.push({ metric: gpu.pcieErrors, labels: { severity }, read });
  }
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
