/** NVML's GPM metrics by id, and the series that each fills. The ids are those of nvml.h, checked on an H200 with driver 580. */
import type { GpuMetric } from "../protocol.ts";
import type { NvmlSeries } from "./card.ts";

export interface GpmMetric {
  readonly id: number;
  /** `percent` is converted to a ratio, `MiB/s` to bytes per second. */
  readonly unit: "percent" | "MiB/s";
  readonly series: NvmlSeries;
}

const share = (
  id: number,
  metric: GpuMetric,
  labels?: Readonly<Record<string, string>>,
): GpmMetric => ({
  id,
  unit: "percent",
  series: labels === undefined ? [metric] : [metric, labels],
});

const rate = (
  id: number,
  metric: GpuMetric,
  labels: Readonly<Record<string, string>>,
): GpmMetric => ({ id, unit: "MiB/s", series: [metric, labels] });

const engines = (firstId: number, count: number, metric: GpuMetric): GpmMetric[] =>
  Array.from({ length: count }, (_, engine) =>
    share(firstId + engine, metric, { engine: String(engine) }),
  );

const graphics = 1;
export const pcieIds = { transmit: 20, receive: 21 } as const;

/** Metrics that both a GPU and a MIG instance report. */
const units: readonly GpmMetric[] = [
  share(graphics, "graphicsActivity"),
  share(2, "smActivity"),
  share(3, "smOccupancy"),
  share(4, "integerActivity"),
  share(5, "tensorActivity"),
  share(6, "tensorPipeActivity", { pipe: "fp64" }),
  share(7, "tensorPipeActivity", { pipe: "half" }),
  share(9, "tensorPipeActivity", { pipe: "int8" }),
  share(10, "dramActivity"),
  share(11, "fp64Activity"),
  share(12, "fp32Activity"),
  share(13, "fp16Activity"),
  ...engines(30, 8, "decoderEngineActivity"),
  ...engines(40, 8, "jpegEngineActivity"),
  ...engines(50, 2, "ofaEngineActivity"),
];

/** Adds the metrics of links, which only a whole GPU reports. NVLink metrics start at id 62, receive before transmit. */
export function gpuMetrics(nvlinks: readonly number[]): readonly GpmMetric[] {
  const links =
    nvlinks.length === 0
      ? []
      : [
          rate(60, "interconnectThroughput", { direction: "receive" }),
          rate(61, "interconnectThroughput", { direction: "transmit" }),
          ...nvlinks
            .filter((link) => link < 18)
            .flatMap((link) =>
              (["receive", "transmit"] as const).map((direction, at) =>
                rate(62 + 2 * link + at, "interconnectLinkThroughput", {
                  link: String(link),
                  direction,
                }),
              ),
            ),
        ];
  return [
    ...units,
    rate(pcieIds.transmit, "pcieThroughput", { direction: "transmit" }),
    rate(pcieIds.receive, "pcieThroughput", { direction: "receive" }),
    ...links,
    rate(100, "c2cThroughput", { direction: "transmit" }),
    rate(101, "c2cThroughput", { direction: "receive" }),
  ];
}

/** An instance has no utilization counter of its own, so the graphics engine's activity is used. */
export const instanceMetrics: readonly GpmMetric[] = [share(graphics, "utilization"), ...units];
