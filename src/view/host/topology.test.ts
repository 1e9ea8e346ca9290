import { expect, test } from "vitest";
import {
  buildTopology,
  describeTopology,
  formatPcieLink,
  isReducedLink,
  type TopologySample,
} from "./topology.ts";

type Labels = Readonly<Record<string, string>>;

const sample = (name: string, uuid: string, labels: Labels = {}, value = 1): TopologySample => ({
  labels: { __name__: name, uuid, host: "n1", ...labels },
  value,
});
const info = (uuid: string, gpu: number, labels: Labels = {}): TopologySample =>
  sample("gpu_info", uuid, { gpu: String(gpu), vendor: "nvidia", model: "H200", ...labels });
const reach = (from: string, to: string, value = 1): TopologySample =>
  sample("gpu_p2p_accessible", from, { peer: to }, value);
const pairs = (...uuids: readonly string[]): TopologySample[] =>
  uuids.flatMap((from) => uuids.filter((to) => to !== from).map((to) => reach(from, to)));
const link = (uuid: string, number: number, isUp = 1): TopologySample[] => [
  sample("gpu_interconnect_up", uuid, { link: String(number) }, isUp),
  sample(
    "gpu_interconnect_bandwidth_bytes_per_second",
    uuid,
    { link: String(number) },
    26_562_000_000,
  ),
];

test("GPUs stand in their NUMA nodes in the order of their index", () => {
  const topology = buildTopology([
    info("C", 2, { numa_node: "1" }),
    info("B", 1, { numa_node: "0" }),
    info("A", 0, { numa_node: "0" }),
    info("D", 3),
  ]);
  expect(topology.nodes.map(({ name, gpus }) => [name, gpus.map(({ uuid }) => uuid)])).toEqual([
    ["0", ["A", "B"]],
    ["1", ["C"]],
    [undefined, ["D"]],
  ]);
  expect(describeTopology(topology)).toBe(
    "4 GPUs on 2 NUMA nodes, 1 without a reported node. Which GPU reaches which is not reported.",
  );
});

test("links that are up make it NVLink, with what they carry together; a link that is down is counted", () => {
  const topology = buildTopology([
    info("A", 0),
    info("B", 1),
    ...pairs("A", "B"),
    ...link("A", 0),
    ...link("A", 1),
    ...link("B", 0),
    ...link("B", 1, 0),
  ]);
  expect(topology.nodes[0]?.gpus.map(({ links }) => links)).toEqual([
    { up: 2, down: 0, bytesPerSecond: 53_124_000_000 },
    { up: 1, down: 1, bytesPerSecond: 26_562_000_000 },
  ]);
  // The two differ, so no rate is claimed for the group.
  expect(topology.groups).toEqual([{ uuids: ["A", "B"], via: "NVLink", isComplete: true }]);
});

test("AMD's links are XGMI; it is PCIe where all links are down, and unknown where none is reported", () => {
  const amd = { vendor: "amd" };
  const groups = [
    buildTopology([info("A", 0), info("B", 1), ...pairs("A", "B")]),
    buildTopology([
      info("A", 0),
      info("B", 1),
      ...pairs("A", "B"),
      ...link("A", 0, 0),
      ...link("B", 0, 0),
    ]),
    buildTopology([
      info("A", 0, amd),
      info("B", 1, amd),
      ...pairs("A", "B"),
      ...link("A", 0),
      ...link("B", 0),
    ]),
  ].map((topology) => topology.groups[0]);
  expect(groups.map((group) => group?.via)).toEqual([undefined, "PCIe", "XGMI"]);
  expect(groups[2]?.bytesPerSecond).toBe(26_562_000_000);
});

test("two islands are two groups; one that is reached by a neighbour only is in part", () => {
  const gpus = ["A", "B", "C", "D", "E"].map((uuid, at) => info(uuid, at));
  const { groups } = buildTopology([
    ...gpus,
    ...pairs("A", "B"),
    ...pairs("B", "C"),
    ...pairs("D", "E"),
  ]);
  expect(groups.map(({ uuids, isComplete }) => [uuids, isComplete])).toEqual([
    [["A", "B", "C"], false],
    [["D", "E"], true],
  ]);
});

test("GPUs that reach nobody are said to, and are not taken for unknown", () => {
  const topology = buildTopology([info("A", 0), info("B", 1), reach("A", "B", 0)]);
  expect(topology).toMatchObject({ groups: [], isPeerAccessKnown: true });
  expect(describeTopology(topology)).toBe(
    "2 GPUs; no NUMA node is reported. No GPU reaches another directly.",
  );
});

test("a MIG instance is a part of its GPU and no GPU of its own", () => {
  const { nodes } = buildTopology([
    info("A", 0),
    info("MIG-2", 0, { parent: "A", model: "H200 MIG 3g.71gb" }),
    info("MIG-1", 0, { parent: "A", model: "H200 MIG 1g.18gb" }),
  ]);
  expect(nodes[0]?.gpus).toHaveLength(1);
  expect(nodes[0]?.gpus[0]?.parts.map(({ uuid }) => uuid)).toEqual(["MIG-1", "MIG-2"]);
});

test.each([
  [{ generation: 5, width: 16, generationMax: 5, widthMax: 16 }, "PCIe 5 ×16", false],
  [{ generation: 5, width: 16 }, "PCIe 5 ×16", false],
  [{ generation: 3, width: 8, generationMax: 5, widthMax: 16 }, "PCIe 3 ×8 of 5 ×16", true],
  [{ generation: 5, width: 8, widthMax: 16 }, "PCIe 5 ×8 of 5 ×16", true],
])("%j is %s", (given, text, isReduced) => {
  expect([formatPcieLink(given), isReducedLink(given)]).toEqual([text, isReduced]);
});

test("a link of which half is reported is not drawn", () => {
  const { nodes } = buildTopology([info("A", 0), sample("gpu_pcie_link_width", "A", {}, 16)]);
  expect(nodes[0]?.gpus[0]?.pcie).toBeUndefined();
});
