/** The AMD cards of a machine: found under class/drm and identified without waking one, each with the inputs of its channels. */
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, fallbackUuid } from "../../model/device.ts";
import type { DeviceFacts } from "../../machine/owners/kubelet/device-names.ts";
import { DrmScan } from "../../machine/owners/fdinfo-scan.ts";
import type { DrmCard } from "../../machine/sysfs/drm.ts";
import { readSleepState } from "../../machine/sysfs/pci.ts";
import { readText } from "../../machine/sysfs/read.ts";
import { present, type ReadResult } from "../../machine/sysfs/read-result.ts";
import { type Card, type CardChannel, type CardSeries, oncePerTick } from "../cards.ts";
import { DrmCardRegistry, type DrmMachine, drmNumbers } from "../drm-cards.ts";
import { holderChannels, latestOf, userChannels } from "../gpu-users.ts";
import { MetricsFile, openCardContext } from "./card-context.ts";
import type { AmdOptions } from "./define.ts";
import { amdVendor, familyOf } from "./family.ts";
import { EnergyStep } from "./gpu-metrics/energy.ts";
import { partitionChannels, rasChannels } from "./health.ts";
import { readKfdNodes, readKfdProcesses, readPartitions } from "./kfd.ts";
import { pcieChannels, pcieTrafficChannels, peerChannels, xgmiChannels } from "./link.ts";
import { loadChannels, memoryChannels } from "./load.ts";
import { nameCard, readNameTable, unnamedPrefix } from "./names.ts";
import { parseUniqueId } from "./parse.ts";
import { PcieBandwidth, PcieReadQueue } from "./pcie-bandwidth.ts";
import { energyChannels, powerChannels, powerLimitChannels, throttleChannels } from "./power.ts";
import {
  clockChannels,
  fanChannels,
  highestClockChannels,
  temperatureChannels,
  temperatureLimitChannels,
  voltageChannels,
} from "./sensors.ts";
import { seriesOf } from "./tools/machine.ts";
import type { ToolCard } from "./tools/tool-card.ts";
import { CardUsers, type CardUsersScan } from "./users.ts";

export interface AmdMachineOptions extends AmdOptions, DrmMachine {
  /** Path of libdrm's table of names; set only by tests. */
  readonly nameTable?: string;
  /** Runs amd-smi for names and limits that /sys lacks. It wakes cards, so it runs only while all are awake. */
  readonly runTool?: (() => Promise<ReadResult<readonly ToolCard[]>>) | undefined;
}

export class AmdMachine {
  readonly #options: AmdMachineOptions;
  readonly #registry: DrmCardRegistry;
  readonly #uuids = new Map<string, string>();
  readonly #turn = new PcieReadQueue();
  readonly #visit: (timeMs: number) => Promise<CardUsersScan | undefined>;
  #names: ReadonlyMap<string, string> | undefined;
  #toolCards: readonly ToolCard[] = [];
  #hasRunTool = false;

  constructor(options: AmdMachineOptions) {
    this.#options = options;
    this.#registry = new DrmCardRegistry(options, amdVendor, (key, card) =>
      this.#openCard(key, card),
    );
    const { sysfs, procfs, fileAccess } = options;
    const scan = new DrmScan(procfs, fileAccess);
    this.#visit = oncePerTick(
      latestOf(async (timeMs) => {
        const [seen, compute, nodes] = await Promise.all([
          scan.scan(timeMs),
          readKfdProcesses(sysfs, fileAccess),
          readKfdNodes(sysfs, fileAccess),
        ]);
        return { scan: seen, compute, nodes };
      }),
    );
  }

  async discover(): Promise<readonly Card[]> {
    const found = await this.#registry.discover();
    void this.#runTool(found);
    return found;
  }

  get hasSeenCards(): boolean {
    return this.#registry.cards.size > 0;
  }

  /** Runs the tool once, in the background; a card for which it returns a better name gets a new key. */
  async #runTool(cards: readonly Card[]): Promise<void> {
    const { runTool } = this.#options;
    const isUnnamed = cards.some(({ device }) => device.model.startsWith(unnamedPrefix));
    if (runTool === undefined || this.#hasRunTool || !isUnnamed) return;
    const states = await Promise.all(cards.map(({ sleepState }) => sleepState()));
    if (this.#hasRunTool || states.some((state) => state !== "awake")) return;
    this.#hasRunTool = true;
    const answer = await runTool();
    this.#toolCards = answer.ok ? answer.value : [];
    if (this.#toolCards.length === 0) return;
    for (const [key, card] of this.#registry.cards) {
      const model = this.#toolCardOf(card.device.pciBusId)?.model;
      if (model === undefined || !card.device.model.startsWith(unnamedPrefix)) continue;
      const device = { ...card.device, model };
      this.#registry.cards.set(key, { ...card, key: `${key} named`, device });
    }
  }

  #toolCardOf(pciBusId: string | undefined): ToolCard | undefined {
    return this.#toolCards.find((card) => card.pciBusId === pciBusId);
  }

  async #openCard(key: string, card: DrmCard): Promise<Card> {
    const { fileAccess, resolver, processes, pcie, nameTable } = this.#options;
    this.#names ??= await readNameTable(fileAccess, nameTable);
    const device = await this.#identify(card);
    const metrics = new MetricsFile(card.device, fileAccess);
    const step = new EnergyStep(familyOf(card.deviceId).joulesPerStep);
    const bandwidth = pcie ? new PcieBandwidth(card.device, fileAccess, this.#turn) : undefined;
    let facts: DeviceFacts = { ...device, ...drmNumbers(card) };
    let users: CardUsers | undefined;
    return {
      key,
      device,
      expected: expectedOf(card),
      sleepState: () => readSleepState(card.device, fileAccess),
      findChannels: async (timeMs) => {
        const context = await openCardContext(card, fileAccess, metrics, timeMs);
        users ??= new CardUsers(card.pciBusId, context.isApu);
        const { sysfs } = this.#options;
        const nodes = await readKfdNodes(sysfs, fileAccess);
        const partitions = await readPartitions(sysfs, card.pciBusId, nodes, fileAccess);
        facts = { ...facts, partitions };
        const lists: readonly (readonly CardChannel[])[] = [
          loadChannels(context),
          memoryChannels(context),
          temperatureChannels(context),
          temperatureLimitChannels(context),
          powerChannels(context),
          powerLimitChannels(context),
          energyChannels(context, step),
          throttleChannels(context),
          clockChannels(context),
          highestClockChannels(context),
          voltageChannels(context),
          fanChannels(context),
          pcieChannels(context),
          pcieTrafficChannels(context, bandwidth),
          xgmiChannels(context),
          peerChannels(context, nodes, (pciBusId) => this.#uuids.get(pciBusId)),
          await rasChannels(context),
          await partitionChannels(context),
        ];
        return withLimits(lists.flat(), this.#toolCardOf(card.pciBusId));
      },
      findHolders: () => holderChannels(facts, resolver),
      findUsers: async (timeMs) => {
        const visit = await this.#visit(timeMs);
        if (visit === undefined || users === undefined) return [];
        const list = users.read(timeMs, visit);
        const found = {
          device: facts,
          processes: list,
          isWhole: visit.scan.denied === 0,
        };
        return userChannels(found, resolver, processes);
      },
    };
  }

  /** Reads only files that the driver serves from memory: none of them accesses the chip. */
  async #identify(card: DrmCard): Promise<Device> {
    const { sysfs, procfs, fileAccess, machine } = this.#options;
    const [unique, product, part, vbios, module, kernel] = await Promise.all([
      readText(`${card.device}/unique_id`, 64, fileAccess),
      readText(`${card.device}/product_name`, 256, fileAccess),
      readText(`${card.device}/product_number`, 64, fileAccess),
      readText(`${card.device}/vbios_version`, 64, fileAccess),
      readText(`${sysfs}/module/amdgpu/version`, 64, fileAccess),
      readText(`${procfs}/sys/kernel/osrelease`, 128, fileAccess),
    ]);
    const id = unique.ok ? parseUniqueId(unique.value) : undefined;
    // ROCm's own format, accepted in HIP_VISIBLE_DEVICES. Two cards with the same id (a passed-through copy) remain two.
    const own = id === undefined ? undefined : `GPU-${id}`;
    const isDuplicate = [...this.#uuids].some(
      ([bus, uuid]) => uuid === own && bus !== card.pciBusId,
    );
    const uuid =
      own === undefined || isDuplicate ? fallbackUuid("amd", card.pciBusId, machine) : own;
    this.#uuids.set(card.pciBusId, uuid);
    const driver = module.ok && module.value !== "" ? module : kernel;
    const family = familyOf(card.deviceId).name;
    return {
      uuid,
      index: 0,
      vendor: "amd",
      model: nameCard(
        {
          deviceId: card.deviceId,
          revision: card.revision,
          productName: product.ok ? product.value : undefined,
        },
        this.#names ?? new Map(),
      ),
      simulated: false,
      pciBusId: card.pciBusId,
      driver: textOf(driver),
      vbios: textOf(vbios),
      partNumber: textOf(part),
      linkType: /^CDNA [34]$/.test(family) ? "OAM" : undefined,
    };
  }
}

const textOf = (text: ReadResult<string>): string | undefined =>
  text.ok && text.value !== "" ? text.value : undefined;

/** Adds limits that only the tool reports; they do not change while the card runs. */
function withLimits(
  channels: readonly CardChannel[],
  tool: ToolCard | undefined,
): readonly CardChannel[] {
  if (tool === undefined) return channels;
  const key = ({ metric, labels }: CardSeries): string =>
    `${metric.name} ${Object.values(labels ?? {}).join(" ")}`;
  const known = new Set(channels.map(key));
  const limits = tool.values.map((value) => {
    const reading = present(value.value);
    return { ...seriesOf(tool, value), read: () => reading };
  });
  return [...channels, ...limits.filter((channel) => !known.has(key(channel)))];
}

/** Series that every card of this driver has, for one that has slept since startup. */
function expectedOf(card: DrmCard): readonly CardSeries[] {
  const power = familyOf(card.deviceId).power === "board" ? gpu.power : gpu.chipPower;
  return [
    { metric: gpu.utilization },
    { metric: gpu.memoryUsed },
    { metric: gpu.memoryFree },
    { metric: gpu.memoryTotal },
    { metric: gpu.temperature, labels: { sensor: "edge" } },
    { metric: power },
    { metric: gpu.clock, labels: { domain: "graphics" } },
  ];
}
