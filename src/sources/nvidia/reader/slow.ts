/** Readings with their own slower schedule, because they take milliseconds or hardly change. One call at a time, between passes. */
import { code } from "../nvml/codes.ts";
import { fieldIds } from "../nvml/field-ids.ts";
import { fabricInfo, readCount } from "../nvml/structs.ts";
import { type CardBuilder, readU32 } from "./card.ts";
import { memoryReader, noMemory } from "./fast.ts";
import { gpmTask, type GpmTask } from "./gpm.ts";
import { gpuMetrics, pcieIds } from "./gpm-metrics.ts";
import { processTasks } from "./processes.ts";
import { ReadTask, type Task } from "./task.ts";

export const energyTask = "energy";
const everyLink = 0xffff_ffff;
const mostLinks = 36;

export function slowTasks(bench: CardBuilder): Task[] {
  const { nvml, card } = bench;
  const links = nvlinksOf(bench);
  const gpm = gpmTask(
    bench,
    (sample) => nvml.nvmlGpmSampleGet(card.handle, sample),
    gpuMetrics(links),
    new Set(Object.values(pcieIds)),
    card.smClock,
  );
  return [
    bench.reading(
      "slow",
      "power limit",
      [["powerLimit"]],
      readU32((out) => nvml.nvmlDeviceGetEnforcedPowerLimit(card.handle, out), 0.001),
    ),
    reservedMemory(bench),
    energy(bench),
    // Before PCIe: the blocking PCIe call is made only if GPM does not report its rates.
    gpm,
    ...pcie(bench, gpm),
    ...eccCounters(bench),
    bench.fields("slow", "page fields", [
      { id: fieldIds.retiredPagesCorrected, series: ["retiredPages", { cause: "corrected" }] },
      { id: fieldIds.retiredPagesUncorrected, series: ["retiredPages", { cause: "uncorrected" }] },
      { id: fieldIds.retiredPagesPending, series: ["retiredPagesPending"] },
      { id: fieldIds.remappedRowsCorrected, series: ["remappedRows", { cause: "corrected" }] },
      { id: fieldIds.remappedRowsUncorrected, series: ["remappedRows", { cause: "uncorrected" }] },
      { id: fieldIds.remappedRowsPending, series: ["remappedRowsPending"] },
      { id: fieldIds.rowRemapFailed, series: ["rowRemapFailed"] },
    ]),
    bench.fields("slow", "recovery action", [
      { id: fieldIds.recoveryAction, series: ["recoveryAction"] },
    ]),
    migMode(bench),
    bench.reading(
      "slow",
      "compute mode",
      [["computeMode"]],
      readU32((out) => nvml.nvmlDeviceGetComputeMode(card.handle, out), 1),
    ),
    fabricState(bench),
    ...nvlink(bench, links),
    ...processTasks(bench),
  ];
}

function migMode({ nvml, card, reading }: CardBuilder): Task {
  const [current, pending] = [Buffer.alloc(4), Buffer.alloc(4)];
  return reading("slow", "mig mode", [["migEnabled"], ["migPending"]], (out) => {
    const got = nvml.nvmlDeviceGetMigMode(card.handle, current, pending);
    out[0] = current.readUInt32LE(0);
    out[1] = pending.readUInt32LE(0);
    return got;
  });
}

/** State 0 means not supported. */
function fabricState({ nvml, card, reading }: CardBuilder): Task {
  const buffer = Buffer.alloc(fabricInfo.bytes);
  return reading("slow", "fabric state", [["fabricState"]], (out) => {
    const got = nvml.nvmlDeviceGetGpuFabricInfo(card.handle, buffer);
    const state = buffer.readUInt8(fabricInfo.state);
    out[0] = state;
    return got === code.success && state === 0 ? code.notSupported : got;
  });
}

function reservedMemory(bench: CardBuilder): Task {
  const read = memoryReader(bench);
  const memory = noMemory();
  return bench.reading("slow", "reserved memory", [["memoryReserved"]], (out) => {
    const got = read(memory);
    out[0] = memory.reserved;
    return got;
  });
}

/** 4 ms a call on an H200, all of it processor time. */
function energy({ nvml, card, reading }: CardBuilder): Task {
  const buffer = Buffer.alloc(8);
  return reading("slow", energyTask, [["energy"]], (out) => {
    const got = nvml.nvmlDeviceGetTotalEnergyConsumption(card.handle, buffer);
    out[0] = readCount(buffer, 0) / 1_000;
    return got;
  });
}

/** A call that is made only while GPM does not report the same metric. */
class GpmFallbackTask extends ReadTask {
  isCovered = (): boolean => false;

  override run(nowMs: number): number {
    return this.isCovered() ? code.success : super.run(nowMs);
  }
}

/**
 * Without GPM, the driver measures throughput over 20 ms, in thousands of bytes (verified with a copy of known speed), and the
 * call blocks for that time.
 */
function pcie({ nvml, card, reading, boards, settings, random }: CardBuilder, gpm: GpmTask) {
  const throughput = (["transmit", "receive"] as const).map((direction, counter) => {
    const id = pcieIds[direction];
    const task = new GpmFallbackTask(
      `pcie ${direction}`,
      settings.slowEveryMs,
      { board: boards.slow, slots: [gpm.slotOf(id)] },
      readU32((out) => nvml.nvmlDeviceGetPcieThroughput(card.handle, counter, out), 1_000),
      random,
    );
    task.isCovered = () => gpm.reports(id);
    return task;
  });
  return [
    reading(
      "slow",
      "pcie generation",
      [["pcieLinkGeneration"]],
      readU32((out) => nvml.nvmlDeviceGetCurrPcieLinkGeneration(card.handle, out), 1),
    ),
    reading(
      "slow",
      "pcie width",
      [["pcieLinkWidth"]],
      readU32((out) => nvml.nvmlDeviceGetCurrPcieLinkWidth(card.handle, out), 1),
    ),
    ...throughput,
    reading(
      "slow",
      "pcie replays",
      [["pcieReplays"]],
      readU32((out) => nvml.nvmlDeviceGetPcieReplayCounter(card.handle, out), 1),
    ),
  ];
}

function eccCounters({ nvml, card, reading }: CardBuilder): Task[] {
  const counters = [
    ["eccErrors", "corrected", 0, 0],
    ["eccErrors", "uncorrected", 1, 0],
    ["eccLifetimeErrors", "corrected", 0, 1],
    ["eccLifetimeErrors", "uncorrected", 1, 1],
  ] as const;
  return counters.map(([metric, type, error, counter]) => {
    const buffer = Buffer.alloc(8);
    return reading("slow", `${metric} ${type}`, [[metric, { type }]], (out) => {
      const got = nvml.nvmlDeviceGetTotalEccErrors(card.handle, error, counter, buffer);
      out[0] = readCount(buffer, 0);
      return got;
    });
  });
}

/** The links that the card reports; most cards have none. */
function nvlinksOf({ nvml, card }: CardBuilder): readonly number[] {
  const probe = Buffer.alloc(4);
  return Array.from({ length: mostLinks }, (_, link) => link).filter(
    (link) => nvml.nvmlDeviceGetNvLinkState(card.handle, link, probe) === code.success,
  );
}

/** Link states per link; traffic and errors are NVML's totals over all links. */
function nvlink({ nvml, card, reading, fields }: CardBuilder, links: readonly number[]): Task[] {
  if (links.length === 0) return [];
  const all = { link: "all" };
  return [
    ...links.map((link) =>
      reading(
        "slow",
        `nvlink ${link}`,
        [["interconnectUp", { link: String(link) }]],
        readU32((out) => nvml.nvmlDeviceGetNvLinkState(card.handle, link, out), 1),
      ),
    ),
    fields(
      "slow",
      "nvlink rates",
      links.map((link) => ({
        id: fieldIds.nvlinkSpeed,
        scope: link,
        series: ["interconnectBandwidth", { link: String(link) }],
        scale: 1e6,
        zeroIsAbsent: true,
      })),
    ),
    fields("slow", "nvlink fields", [
      {
        id: fieldIds.nvlinkTransmitKibibytes,
        scope: everyLink,
        series: ["interconnectBytes", { ...all, direction: "transmit" }],
        scale: 1_024,
      },
      {
        id: fieldIds.nvlinkReceiveKibibytes,
        scope: everyLink,
        series: ["interconnectBytes", { ...all, direction: "receive" }],
        scale: 1_024,
      },
      {
        id: fieldIds.nvlinkCrcFlitErrors,
        series: ["interconnectErrors", { ...all, type: "crc_flit" }],
      },
      {
        id: fieldIds.nvlinkCrcDataErrors,
        series: ["interconnectErrors", { ...all, type: "crc_data" }],
      },
      { id: fieldIds.nvlinkReplays, series: ["interconnectErrors", { ...all, type: "replay" }] },
      {
        id: fieldIds.nvlinkRecoveries,
        series: ["interconnectErrors", { ...all, type: "recovery" }],
      },
    ]),
  ];
}
