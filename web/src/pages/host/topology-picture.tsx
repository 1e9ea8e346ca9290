/** The topology as a picture: NUMA nodes with their GPUs, each with its PCIe link and MIG instances, and the bus that joins peers. */

import {
  formatPcieLink,
  isReducedLink,
  type PeerGroup,
  type Topology,
  type TopologyGpu,
} from "../../../../src/view/host/topology.ts";
import { gpuId } from "../../../../src/view/gpu.ts";
import { formatReadable } from "../../format/readable.ts";
import { goTo, hrefOf } from "../../view-state/address.ts";
import {
  type GpuBox,
  layoutTopology,
  type NodeBox,
  type TopologyLayout,
} from "./topology-layout.ts";

const BASE_FONT_PX = 16;
const rootFontPx = (): number =>
  Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || BASE_FONT_PX;

export interface TopologyPictureProps {
  readonly host: string;
  readonly topology: Topology;
  readonly widthPx: number;
}

export function TopologyPicture({ host, topology, widthPx }: TopologyPictureProps) {
  const scale = rootFontPx() / BASE_FONT_PX;
  const layout = layoutTopology(topology, { widthPx, scale });
  const groupNames = new Map(
    topology.groups.map((group, at) => [group, nameOf(group, at, topology)]),
  );
  return (
    <svg
      class="topology-picture"
      width={layout.width}
      height={layout.height}
      role="group"
      aria-label={`Topology of ${host}`}
    >
      {layout.nodes.map((node) => (
        <Node key={node.name ?? ""} {...{ node, host, layout, scale, groupNames }} />
      ))}
    </svg>
  );
}

/** A letter distinguishes several groups. */
function nameOf(group: PeerGroup, at: number, { groups }: Topology): string {
  const { via, isComplete, bytesPerSecond } = group;
  return [
    `${via ?? "Direct access"}${groups.length > 1 ? ` ${String.fromCharCode(65 + (at % 26))}` : ""}`,
    `${group.uuids.length} GPUs${isComplete ? "" : ", not all pairs"}`,
    ...(bytesPerSecond === undefined
      ? []
      : [`${formatReadable(bytesPerSecond, "bytes_per_second")} each`]),
  ].join(" · ");
}

interface NodeProps {
  readonly node: NodeBox;
  readonly host: string;
  readonly layout: TopologyLayout;
  readonly scale: number;
  readonly groupNames: ReadonlyMap<PeerGroup, string>;
}

function Node({ node, host, layout, scale, groupNames }: NodeProps) {
  const { x, y, width, height, name, count, rows } = node;
  const title = name === undefined ? "NUMA node not reported" : `NUMA node ${name}`;
  return (
    <g>
      <rect
        class="node"
        x={x + 0.5}
        y={y + 0.5}
        width={width - 1}
        height={height - 1}
        rx={6 * scale}
      />
      <text class="node-name" x={x + 12 * scale} y={y + 20 * scale}>
        {title} <tspan class="quiet-text">{count === 1 ? "1 GPU" : `${count} GPUs`}</tspan>
      </text>
      {rows.map((row) => {
        const [first, last] = [row.boxes[0], row.boxes.at(-1)];
        return (
          <g key={`${first?.gpu.uuid}`}>
            {row.group !== undefined && first !== undefined && last !== undefined && (
              <>
                <path
                  class="bus"
                  data-via={row.group.via}
                  d={busPath(row.boxes, row.busY, layout)}
                />
                <text class="bus-name" x={first.x} y={row.busY + 14 * scale}>
                  {groupNames.get(row.group)}
                </text>
              </>
            )}
            {row.boxes.map((box) => (
              <GpuNode key={box.gpu.uuid} {...{ box, host, layout, scale }} />
            ))}
          </g>
        );
      })}
    </g>
  );
}

/** The path from the lower edge of each GPU to one line below all of them. */
function busPath(
  boxes: readonly GpuBox[],
  busY: number,
  { gpuWidth, gpuHeight }: TopologyLayout,
): string {
  const middles = boxes.map(({ x }) => x + gpuWidth / 2);
  const drops = boxes.map(({ y }, at) => `M${middles[at]} ${y + gpuHeight}V${busY}`);
  return `${drops.join("")}M${middles[0]} ${busY}H${middles.at(-1)}`;
}

function GpuNode({
  box: { gpu, x, y },
  host,
  layout: { gpuWidth, gpuHeight },
  scale,
}: {
  box: GpuBox;
  host: string;
  layout: TopologyLayout;
  scale: number;
}) {
  const { pcie, parts, links } = gpu;
  const id = gpuId({ host, uuid: gpu.uuid });
  const says = describeGpu(gpu);
  const open = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    goTo("gpu", { uuid: id });
  };
  const text = x + 8 * scale;
  return (
    <a href={hrefOf("gpu", { uuid: id })} data-tip={says} onClick={open}>
      <rect
        class="gpu"
        x={x + 0.5}
        y={y + 0.5}
        width={gpuWidth - 1}
        height={gpuHeight - 1}
        rx={4 * scale}
      />
      <text class="gpu-name" x={text} y={y + 18 * scale}>
        #{gpu.index}
      </text>{" "}
      <text
        class={pcie !== undefined && isReducedLink(pcie) ? "reduced" : "quiet-text"}
        x={text}
        y={y + 35 * scale}
      >
        {pcie === undefined ? "PCIe n/a" : `PCIe ${pcie.generation} ×${pcie.width}`}
      </text>{" "}
      <text
        class={links !== undefined && links.down > 0 ? "reduced" : "quiet-text"}
        x={text}
        y={y + 51 * scale}
      >
        {links === undefined
          ? shortAddress(gpu)
          : `${links.up}${links.down > 0 ? ` of ${links.up + links.down}` : ""} links`}
      </text>
      {parts.map((part, at) => {
        const width = (gpuWidth - 16 * scale) / parts.length;
        return (
          <rect
            key={part.uuid}
            class="part-of"
            x={text + at * width}
            y={y + 58 * scale}
            width={Math.max(2, width - 2 * scale)}
            height={9 * scale}
            rx={2}
          />
        );
      })}
    </a>
  );
}

/** Bus and device; the domain is the same on nearly every machine. */
const shortAddress = ({ pciBusId }: TopologyGpu): string =>
  pciBusId === undefined ? "" : pciBusId.replace(/^0000:/, "");

function describeGpu({ index, model, pciBusId, pcie, links, parts }: TopologyGpu): string {
  return [
    `GPU ${index}: ${model}`,
    ...(pciBusId === undefined ? [] : [`PCI ${pciBusId}`]),
    pcie === undefined ? "PCIe link not reported" : formatPcieLink(pcie),
    ...(links === undefined
      ? []
      : [`${links.up} links up${links.down > 0 ? `, ${links.down} down` : ""}`]),
    ...(parts.length === 0 ? [] : [`MIG: ${parts.map(({ model: name }) => name).join(", ")}`]),
  ].join("\n");
}
