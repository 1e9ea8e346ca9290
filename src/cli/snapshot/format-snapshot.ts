/** Formats a snapshot: GPUs as a table, the machine as lines. Unknown values are left out. */
import type { GpuFacts, GpuReadings, Snapshot } from "../../machine/snapshot.ts";
import { nameOf } from "../../runs/snapshot/load.ts";
import { formatFactBytes } from "../../runs/snapshot/words.ts";
import { alignColumns } from "../table.ts";
import { machineLines } from "./machine-lines.ts";
import { paint } from "./paint.ts";

export function formatSnapshot(snapshot: Snapshot, colour: boolean): string {
  const style = paint(colour);
  const { facts, readings } = snapshot;
  const title = `${style.bold(snapshot.host)}${snapshot.label === undefined ? "" : ` (${snapshot.label})`}, ${snapshot.takenAt.slice(0, 19).replace("T", " ")} UTC${snapshot.simulated ? style.yellow("  simulated GPUs") : ""}`;
  const blocks = [`${title}\n`];
  if (facts.gpus.length > 0) blocks.push(gpuTable(snapshot));
  const lines = machineLines(snapshot);
  const width = Math.max(...lines.map(([name]) => name.length));
  blocks.push(lines.map(([name, text]) => `${style.bold(name.padEnd(width))}  ${text}\n`).join(""));
  const section = (heading: string, items: readonly string[]): void => {
    if (items.length > 0)
      blocks.push(`${style.bold(heading)}\n${items.map((item) => `  ${item}\n`).join("")}`);
  };
  section(
    "Processes on the GPUs",
    readings.processes.map((process) => {
      const index = readings.gpus.find(({ uuid }) => uuid === process.uuid)?.index;
      return `GPU ${index ?? "?"}: ${nameOf(process)}`;
    }),
  );
  section(
    "Seen from here",
    (snapshot.visibility ?? []).map(({ part, state, detail }) => `${part}: ${state} (${detail})`),
  );
  section("Narrowed or hidden", snapshot.hidden);
  section("Not known here", missingLines(snapshot));
  return blocks.join("\n");
}

function gpuTable({ facts, readings }: Snapshot): string {
  const rows = facts.gpus.map((gpu) => {
    const now = readings.gpus.find(({ uuid }) => uuid === gpu.uuid);
    return [
      String(now?.index ?? "?"),
      gpu.model,
      `${bytes(now?.memoryUsedBytes)} / ${bytes(gpu.memoryTotalBytes)}`,
      `${watts(now?.powerWatts)} / ${watts(gpu.powerLimitWatts)}`,
      link(gpu, now),
      megahertz(gpu.clocks.maxHertz["graphics"]),
      modes(gpu),
      gpu.driver ?? "–",
      gpu.vbios ?? "–",
      gpu.uuid,
    ];
  });
  const heading = [
    "GPU",
    "MODEL",
    "MEMORY",
    "POWER",
    "LINK (BEST)",
    "CLOCK MAX",
    "MODES",
    "DRIVER",
    "VBIOS",
    "UUID",
  ];
  return alignColumns(withoutEmpty([heading, ...rows]));
}

/** Removes columns without a value for any GPU. */
function withoutEmpty(rows: readonly (readonly string[])[]): string[][] {
  const said = (rows[0] ?? []).map((_, column) => rows.slice(1).some((row) => row[column] !== "–"));
  return rows.map((row) => row.filter((_, column) => said[column] === true));
}

const bytes = (value: number | undefined): string =>
  value === undefined ? "–" : formatFactBytes(value);
const watts = (value: number | undefined): string =>
  value === undefined ? "–" : `${Math.round(value)} W`;
const megahertz = (value: number | undefined): string =>
  value === undefined ? "–" : `${Math.round(value / 1e6)} MHz`;

function link({ pcie }: GpuFacts, now: GpuReadings | undefined): string {
  const text = (generation: number | undefined, width: number | undefined): string =>
    generation === undefined && width === undefined
      ? "–"
      : `gen${generation ?? "?"} x${width ?? "?"}`;
  const current = text(now?.pcieGeneration, now?.pcieWidth);
  const best = text(pcie.generationMax, pcie.widthMax);
  if (current === "–" && best === "–") return "–";
  return `${pcie.type ?? "PCIe"} ${current}${current === best ? "" : ` (${best})`}`;
}

function modes(gpu: GpuFacts): string {
  const all = [
    ...(gpu.eccEnabled === undefined ? [] : [`ecc ${gpu.eccEnabled ? "on" : "off"}`]),
    ...(gpu.persistenceEnabled === true ? ["persistent"] : []),
    ...(gpu.migEnabled === true ? ["mig"] : []),
    ...(gpu.computeMode === undefined || gpu.computeMode === "default" ? [] : [gpu.computeMode]),
    ...(gpu.partition === undefined ? [] : [gpu.partition]),
    ...(gpu.clocks.performanceLevel === undefined ? [] : [gpu.clocks.performanceLevel]),
  ];
  return all.length === 0 ? "–" : all.join(", ");
}

/** A fact missing on several GPUs is listed once. */
function missingLines({ missing, readings }: Snapshot): string[] {
  const uuids = readings.gpus.map(({ uuid }) => uuid);
  const counts = new Map<string, number>();
  for (const { fact, reason } of missing) {
    const uuid = uuids.find((one) => fact.startsWith(`gpus.${one}.`));
    const name = uuid === undefined ? fact : `gpu ${fact.slice(uuid.length + 6)}`;
    const key = `${name}: ${reason}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => (count === 1 ? text : `${text} (${count} GPUs)`));
}
