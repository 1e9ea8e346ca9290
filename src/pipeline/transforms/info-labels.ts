/**
 * Adds labels of the machine to `gpu_info` and `host_info`: user-defined ones, such as room and rack, and the NUMA node
 * of each GPU. The other series keep their labels, so a machine that moves to another rack keeps its history.
 */
import { gpu, host } from "../../model/catalogue/index.ts";
import { labelValue, withLabels } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import type { Delivery, Transform } from "../sink.ts";

/** Labels that the info metrics define themselves, and labels that identify a series. */
export const reservedInfoLabels: ReadonlySet<string> = new Set([
  "host",
  "uuid",
  "gpu",
  "job",
  "instance",
  "numa_node",
  ...[gpu.info, host.info].flatMap(({ labels }) => labels.map(({ name }) => name)),
]);

export interface InfoLabelOptions {
  readonly labels: Readonly<Record<string, string>>;
  /** Returns the NUMA node of the device at this PCI address; undefined if the machine reports none. */
  readonly numaNodeOf: (pciBusId: string) => number | undefined;
}

export function createInfoLabels({ labels, numaNodeOf }: InfoLabelOptions): Transform {
  const layouts = new WeakMap<Layout, Layout>();
  const describe = (series: Series): Series => {
    if (series.metric === host.info)
      return { ...series, labels: withLabels(series.labels, labels) };
    if (series.metric !== gpu.info) return series;
    return { ...series, labels: withLabels(series.labels, { ...numaLabel(series), ...labels }) };
  };
  const numaLabel = ({ labels: own }: Series): { numa_node?: string } => {
    const address = labelValue(own, "pci_bus_id");
    // The address of a simulated GPU may belong to another device of this machine.
    const isSimulated = labelValue(own, "simulated") !== undefined;
    if (address === undefined || isSimulated) return {};
    const node = numaNodeOf(address);
    return node === undefined ? {} : { numa_node: String(node) };
  };
  return (delivery: Delivery): Delivery => {
    const { frame, origin, host: other } = delivery;
    // Messages of a log and frames of another machine stay unchanged.
    if (origin !== undefined || other !== undefined) return delivery;
    let layout = layouts.get(frame.layout);
    if (layout === undefined) {
      const isInfo = ({ metric }: Series): boolean => metric === gpu.info || metric === host.info;
      layout = frame.layout.series.some(isInfo)
        ? { series: frame.layout.series.map(describe) }
        : frame.layout;
      layouts.set(frame.layout, layout);
    }
    return layout === frame.layout ? delivery : { ...delivery, frame: { ...frame, layout } };
  };
}
