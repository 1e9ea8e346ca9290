import { expect, test } from "vitest";
import type { Topology, TopologyGpu } from "../../../../src/view/host/topology.ts";
import { layoutTopology } from "./topology-layout.ts";

const gpu = (index: number): TopologyGpu => ({
  uuid: `G${index}`,
  index,
  model: "H200",
  vendor: "nvidia",
  parts: [],
});
const gpus = Array.from({ length: 8 }, (_, index) => gpu(index));
const topology: Topology = {
  nodes: [
    { name: "0", gpus: gpus.slice(0, 4) },
    { name: "1", gpus: gpus.slice(4) },
  ],
  groups: [{ uuids: gpus.map(({ uuid }) => uuid), via: "NVLink", isComplete: true }],
  isPeerAccessKnown: true,
};
const rowsAt = (widthPx: number, scale = 1): number[][] =>
  layoutTopology(topology, { widthPx, scale }).nodes.map(({ rows }) =>
    rows.map(({ boxes }) => boxes.length),
  );

test.each([
  [1_390, [[4], [4]]],
  [700, [[4], [4]]],
  [
    366,
    [
      [3, 1],
      [3, 1],
    ],
  ],
  [
    200,
    [
      [1, 1, 1, 1],
      [1, 1, 1, 1],
    ],
  ],
])("at %s px the rows of the nodes are %j", (widthPx, rows) => {
  expect(rowsAt(widthPx)).toEqual(rows);
});

test.each([366, 700, 1_390, 2_500])(
  "at %s px nothing leaves its node or the picture",
  (widthPx) => {
    const { nodes, gpuWidth, gpuHeight, height } = layoutTopology(topology, { widthPx, scale: 1 });
    for (const node of nodes) {
      expect(node.x + node.width).toBeLessThanOrEqual(widthPx + 0.01);
      expect(node.y + node.height).toBeLessThanOrEqual(height + 0.01);
      for (const { boxes, busY } of node.rows) {
        expect(busY).toBeLessThan(node.y + node.height);
        for (const { x, y } of boxes) {
          expect(x + gpuWidth).toBeLessThanOrEqual(node.x + node.width);
          expect(y + gpuHeight).toBeLessThan(busY);
        }
      }
    }
  },
);

test("GPUs of two groups stand in rows of their own, so that a bus joins one group alone", () => {
  const [first, second] = [gpus.slice(0, 2), gpus.slice(2, 4)].map((members) => ({
    uuids: members.map(({ uuid }) => uuid),
    via: "PCIe" as const,
    isComplete: true,
  }));
  const groups = [first, second].filter((group) => group !== undefined);
  const layout = layoutTopology(
    { nodes: [{ name: undefined, gpus: gpus.slice(0, 5) }], groups, isPeerAccessKnown: true },
    { widthPx: 1_390, scale: 1 },
  );
  expect(
    layout.nodes[0]?.rows.map(({ group, boxes }) => [
      group?.uuids,
      boxes.map((box) => box.gpu.uuid),
    ]),
  ).toEqual([
    [
      ["G0", "G1"],
      ["G0", "G1"],
    ],
    [
      ["G2", "G3"],
      ["G2", "G3"],
    ],
    [undefined, ["G4"]],
  ]);
});
