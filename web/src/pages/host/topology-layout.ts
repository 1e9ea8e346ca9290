/** The layout of a topology picture, in CSS pixels. Pure. */
import type {
  NumaNode,
  PeerGroup,
  Topology,
  TopologyGpu,
} from "../../../../src/view/host/topology.ts";

export interface GpuBox {
  readonly gpu: TopologyGpu;
  readonly x: number;
  readonly y: number;
}

/** A row of GPUs of one node and one peer group, with the bus that joins them. */
export interface BusRow {
  readonly group: PeerGroup | undefined;
  readonly boxes: readonly GpuBox[];
  readonly busY: number;
}

export interface NodeBox {
  readonly name: string | undefined;
  readonly count: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly rows: readonly BusRow[];
}

export interface TopologyLayout {
  readonly width: number;
  readonly height: number;
  readonly gpuWidth: number;
  readonly gpuHeight: number;
  readonly nodes: readonly NodeBox[];
}

export interface LayoutOptions {
  readonly widthPx: number;
  /** Text size of the page relative to 16 px: a wall display has larger text. */
  readonly scale: number;
}

const sizes = {
  gap: 12,
  pad: 12,
  title: 30,
  gpuWidth: 96,
  maxGpuWidth: 150,
  gpuHeight: 62,
  part: 6,
  bus: 30,
};

export function layoutTopology(
  { nodes, groups }: Topology,
  { widthPx, scale }: LayoutOptions,
): TopologyLayout {
  const px = (size: number): number => size * scale;
  const groupOf = new Map(groups.flatMap((group) => group.uuids.map((uuid) => [uuid, group])));
  const hasParts = nodes.some(({ gpus }) => gpus.some(({ parts }) => parts.length > 0));
  const gpuHeight = px(sizes.gpuHeight + (hasParts ? sizes.part + 6 : 0));
  const largest = Math.max(1, ...nodes.map((node) => longestRow(node, groupOf)));
  // Nodes are side by side if each can show its longest row in one line.
  const rowWidth = (count: number): number =>
    count * px(sizes.gpuWidth) + (count - 1) * px(sizes.gap) + 2 * px(sizes.pad);
  const across = Math.max(
    1,
    Math.min(
      nodes.length,
      Math.floor((widthPx + px(sizes.gap)) / (rowWidth(largest) + px(sizes.gap))),
    ),
  );
  const nodeWidth = (widthPx - (across - 1) * px(sizes.gap)) / across;
  const inner = nodeWidth - 2 * px(sizes.pad);
  const perRow = Math.max(
    1,
    Math.min(largest, Math.floor((inner + px(sizes.gap)) / (px(sizes.gpuWidth) + px(sizes.gap)))),
  );
  const gpuWidth = Math.min(px(sizes.maxGpuWidth), (inner - (perRow - 1) * px(sizes.gap)) / perRow);
  let y = 0;
  const placed: NodeBox[] = [];
  for (let first = 0; first < nodes.length; first += across) {
    const line = nodes
      .slice(first, first + across)
      .map((node, at) =>
        layoutNode(node, { x: at * (nodeWidth + px(sizes.gap)), y, width: nodeWidth }),
      );
    const height = Math.max(...line.map((node) => node.height));
    placed.push(...line.map((node) => ({ ...node, height })));
    y += height + px(sizes.gap);
  }
  return { width: widthPx, height: y - px(sizes.gap), gpuWidth, gpuHeight, nodes: placed };

  function layoutNode(
    node: NumaNode,
    at: { readonly x: number; readonly y: number; readonly width: number },
  ): NodeBox {
    let rowY = at.y + px(sizes.title);
    const rows = rowsOf(node, groupOf, perRow).map(({ group, gpus }): BusRow => {
      const boxes = gpus.map((gpu, place) => ({
        gpu,
        x: at.x + px(sizes.pad) + place * (gpuWidth + px(sizes.gap)),
        y: rowY,
      }));
      const busY = rowY + gpuHeight + px(sizes.bus) / 2;
      rowY += gpuHeight + px(group === undefined ? sizes.gap : sizes.bus + 4);
      return { group, boxes, busY };
    });
    const height = rowY - at.y + px(sizes.pad) / 2;
    return { name: node.name, count: node.gpus.length, ...at, height, rows };
  }
}

interface GpuRow {
  readonly group: PeerGroup | undefined;
  readonly gpus: readonly TopologyGpu[];
}

/** A row contains GPUs of one group, so that one bus below it joins them all. */
function rowsOf(
  { gpus }: NumaNode,
  groupOf: ReadonlyMap<string, PeerGroup>,
  perRow: number,
): readonly GpuRow[] {
  const byGroup = new Map<PeerGroup | undefined, TopologyGpu[]>();
  for (const gpu of gpus) {
    const group = groupOf.get(gpu.uuid);
    const own = byGroup.get(group);
    if (own === undefined) byGroup.set(group, [gpu]);
    else own.push(gpu);
  }
  return [...byGroup].flatMap(([group, own]) =>
    Array.from({ length: Math.ceil(own.length / perRow) }, (_, row) => ({
      group,
      gpus: own.slice(row * perRow, (row + 1) * perRow),
    })),
  );
}

const longestRow = (node: NumaNode, groupOf: ReadonlyMap<string, PeerGroup>): number =>
  Math.min(
    8,
    Math.max(...rowsOf(node, groupOf, Number.MAX_SAFE_INTEGER).map(({ gpus }) => gpus.length)),
  );
