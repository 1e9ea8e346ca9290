// `gpulse stats --json` held against `nvidia-smi -q` and its P2P matrix.

import { textAt } from "./compare.mjs";
import { run } from "./machine.mjs";

/**
 * What `stats` says against `-q`, and its peers against the P2P matrix.
 * @param {{ cliMain: string, source: string, smi: string, gpu: string,
 *   note: (what: string, measured: string, bound: string, ok: boolean) => void }} given
 */
export function checkStats({ cliMain, source, smi, gpu, note }) {
  const { stdout } = run(process.execPath, [
    cliMain,
    "stats",
    "--json",
    "--source",
    source,
    "--window",
    "3s",
  ]);
  const stats = /** @type {import("../../src/agent/stats/schema.ts").Stats} */ (JSON.parse(stdout));
  const [first] = stats.gpus;
  if (first === undefined) throw new Error("gpulse stats lists no GPU");
  const number = (/** @type {string} */ at) =>
    Number(/-?\d+(\.\d+)?/.exec(textAt(gpu, at) ?? "")?.[0]);
  const link = "pci/pci_gpu_link_info";
  const pairs = [
    ["uuid", first.uuid.value, textAt(gpu, "uuid")],
    ["model", first.model.value, textAt(gpu, "product_name")],
    ["vbios", first.vbios.value, textAt(gpu, "vbios_version")],
    [
      "memory_total MiB",
      Math.round((first.memory_total.value ?? 0) / 1_048_576),
      number("fb_memory_usage/total"),
    ],
    ["power_limit", first.power_limit.value, number("gpu_power_readings/current_power_limit")],
    [
      "pcie generation",
      first.pcie_link.generation.value,
      number(`${link}/pcie_gen/current_link_gen`),
    ],
    [
      "pcie generation_max",
      first.pcie_link.generation_max.value,
      number(`${link}/pcie_gen/max_link_gen`),
    ],
    ["pcie width", first.pcie_link.width.value, number(`${link}/link_widths/current_link_width`)],
    [
      "pcie width_max",
      first.pcie_link.width_max.value,
      number(`${link}/link_widths/max_link_width`),
    ],
  ];
  for (const [what, ours, theirs] of pairs)
    note(`stats ${what}`, `${ours}`, `nvidia-smi ${theirs}`, ours === theirs);
  note(
    "stats average_power",
    `${first.average_power.value} W over ${first.average_power.samples} samples`,
    "there",
    (first.average_power.value ?? 0) > 0,
  );
  const rows = run(smi, ["topo", "-p2p", "r"])
    .stdout.split("\n")
    .filter((line) => /^\s*GPU\d+\s/.test(line) && /X/.test(line));
  rows.forEach((line, index) => {
    const theirs = line
      .trim()
      .split(/\s+/)
      .slice(1)
      .filter((cell) => cell !== "X")
      .map((cell) => cell === "OK");
    const ours = (stats.gpus[index]?.p2p.peers ?? []).map(({ accessible }) => accessible);
    note(
      `stats p2p of GPU ${index}`,
      JSON.stringify(ours),
      `nvidia-smi topo -p2p ${JSON.stringify(theirs)}`,
      JSON.stringify(ours) === JSON.stringify(theirs),
    );
  });
  return stats;
}
