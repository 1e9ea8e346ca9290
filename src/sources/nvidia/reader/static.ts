/** Readings that hardly ever change, made once a minute: sizes, limits, maxima, modes, and peer access between GPUs. */
import { code, meansLost } from "../nvml/codes.ts";
import { memoryV1, readCount } from "../nvml/structs.ts";
import { type CardBuilder, type NvmlCard, type NvmlSeries, readU32 } from "./card.ts";
import { clockDomains, memoryReader, noMemory } from "./fast.ts";
import type { Task } from "./task.ts";

/** The number of peers is quadratic; no machine with more GPUs than this connects them all. */
const mostPeers = 16;

export function staticTasks(bench: CardBuilder, cards: readonly NvmlCard[]): Task[] {
  const { nvml, card, reading } = bench;
  return [
    memoryTotal(bench),
    visibleTotal(bench),
    threshold(bench, "shutdown", 0),
    threshold(bench, "slowdown", 1),
    threshold(bench, "memory", 2),
    threshold(bench, "target", 5),
    reading(
      "static",
      "default power limit",
      [["powerLimitDefault"]],
      readU32((out) => nvml.nvmlDeviceGetPowerManagementDefaultLimit(card.handle, out), 0.001),
    ),
    powerConstraints(bench),
    ...clockDomains.map((domain, type) =>
      reading(
        "static",
        `max clock ${domain}`,
        [["clockMax", { domain }]],
        readU32((out) => nvml.nvmlDeviceGetMaxClockInfo(card.handle, type, out), 1e6),
      ),
    ),
    reading(
      "static",
      "max pcie generation",
      [["pcieLinkGenerationMax"]],
      readU32((out) => nvml.nvmlDeviceGetMaxPcieLinkGeneration(card.handle, out), 1),
    ),
    reading(
      "static",
      "max pcie width",
      [["pcieLinkWidthMax"]],
      readU32((out) => nvml.nvmlDeviceGetMaxPcieLinkWidth(card.handle, out), 1),
    ),
    eccMode(bench),
    persistence(bench),
    ...cards
      .filter((other) => other !== card && other.instance === undefined)
      .slice(0, mostPeers)
      .map((peer) => peerAccess(bench, peer)),
  ];
}

export function memoryTotal(bench: CardBuilder): Task {
  const read = memoryReader(bench);
  const memory = noMemory();
  return bench.reading("static", "total memory", [["memoryTotal"]], (out) => {
    const got = read(memory);
    out[0] = memory.total;
    return got;
  });
}

function visibleTotal({ nvml, card, reading }: CardBuilder): Task {
  const buffer = Buffer.alloc(memoryV1.bytes);
  return reading("static", "bar1 total", [["visibleMemoryTotal"]], (out) => {
    const got = nvml.nvmlDeviceGetBAR1MemoryInfo(card.handle, buffer);
    out[0] = readCount(buffer, memoryV1.total);
    return got;
  });
}

/**
 * Only limits the driver reports in °C (89 and 95 on an H200 with driver 580, idle and loaded). A margin ("T.Limit") refers to
 * the hottest spot of the chip, and its sum with the edge temperature moves with the load (89 idle, 79 loaded on one card), so no
 * limit is computed from it.
 */
function threshold({ nvml, card, reading }: CardBuilder, limit: string, type: number): Task {
  return reading(
    "static",
    `${limit} limit`,
    [["temperatureLimit", { limit }]],
    readU32((out) => nvml.nvmlDeviceGetTemperatureThreshold(card.handle, type, out), 1),
  );
}

function eccMode({ nvml, card, reading }: CardBuilder): Task {
  const [current, pending] = [Buffer.alloc(4), Buffer.alloc(4)];
  return reading("static", "ecc mode", [["eccEnabled"], ["eccPending"]], (out) => {
    const got = nvml.nvmlDeviceGetEccMode(card.handle, current, pending);
    out[0] = current.readUInt32LE(0);
    out[1] = pending.readUInt32LE(0);
    return got;
  });
}

function persistence({ nvml, card, reading }: CardBuilder): Task {
  const read = readU32((out) => nvml.nvmlDeviceGetPersistenceMode(card.handle, out), 1);
  return reading("static", "persistence mode", [["persistenceEnabled"]], (out) => {
    const got = read(out);
    card.isPersistent = got !== code.success || out[0] !== 0;
    return got;
  });
}

function powerConstraints({ nvml, card, reading }: CardBuilder): Task {
  const [least, most] = [Buffer.alloc(4), Buffer.alloc(4)];
  const series: NvmlSeries[] = [["powerLimitMin"], ["powerLimitMax"]];
  return reading("static", "power limit range", series, (out) => {
    const got = nvml.nvmlDeviceGetPowerManagementLimitConstraints(card.handle, least, most);
    out[0] = least.readUInt32LE(0) / 1_000;
    out[1] = most.readUInt32LE(0) / 1_000;
    return got;
  });
}

/**
 * Accessible means that both reading (capability 0) and writing (1) are OK (status 0), as in `nvidia-smi topo -p2p`. A code for a
 * lost GPU may mean the peer: it fails this reading and does not mark this card as lost.
 */
function peerAccess({ nvml, card, reading }: CardBuilder, peer: NvmlCard): Task {
  const [canRead, canWrite] = [Buffer.alloc(4), Buffer.alloc(4)];
  const name = `p2p ${card.device.index} to ${peer.device.index}`;
  return reading("static", name, [["p2pAccessible", { peer: peer.device.uuid }]], (out) => {
    if (peer.lostSinceMs !== undefined) return code.notFound;
    const first = nvml.nvmlDeviceGetP2PStatus(card.handle, peer.handle, 0, canRead);
    const got =
      first === code.success
        ? nvml.nvmlDeviceGetP2PStatus(card.handle, peer.handle, 1, canWrite)
        : first;
    out[0] = canRead.readUInt32LE(0) === 0 && canWrite.readUInt32LE(0) === 0 ? 1 : 0;
    return meansLost(got) ? code.notFound : got;
  });
}
