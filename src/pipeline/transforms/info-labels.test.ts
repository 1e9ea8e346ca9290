import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { readNumaNode } from "../../machine/sysfs/numa.ts";
import { gpu, host, type MetricEntry } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { Delivery } from "../sink.ts";
import { createInfoLabels } from "./info-labels.ts";

function delivery(
  list: readonly (readonly [MetricEntry, Readonly<Record<string, string>>])[],
  more: Partial<Delivery> = {},
): Delivery {
  const builder = new LayoutBuilder();
  for (const [metric, labels] of list) builder.add(metric, labelSet(labels));
  const writer = new FrameWriter(builder.build(), 1_000);
  list.forEach((_, slot) => writer.set(slot, 1));
  return {
    frame: writer.finish(),
    source: "x",
    tier: "static",
    freshForMs: 1_000,
    devices: [],
    ...more,
  };
}
const labelsIn = ({ frame }: Delivery) =>
  frame.layout.series.map(({ labels }) => Object.fromEntries(labels));

const card = { uuid: "A", host: "n1", pci_bus_id: "0000:18:00.0" };
const transform = createInfoLabels({
  labels: { rack: "b7" },
  numaNodeOf: (address) => (address === card.pci_bus_id ? 1 : undefined),
});

test("the machine's labels and the NUMA node are on the info metrics alone", () => {
  const given = delivery([
    [gpu.info, card],
    [host.info, { host: "n1" }],
    [gpu.power, { uuid: "A", host: "n1" }],
  ]);
  expect(labelsIn(transform(given))).toEqual([
    { ...card, rack: "b7", numa_node: "1" },
    { host: "n1", rack: "b7" },
    { uuid: "A", host: "n1" },
  ]);
  expect(transform(given).frame.values).toEqual(given.frame.values);
  expect(transform(given).frame.layout).toBe(transform(given).frame.layout);
});

test("a simulated GPU does not get the node of whatever has its address here", () => {
  const [labels] = labelsIn(transform(delivery([[gpu.info, { ...card, simulated: "true" }]])));
  expect(labels).not.toHaveProperty("numa_node");
});

test.each([
  ["no info metric is in it", delivery([[gpu.power, { uuid: "A" }]])],
  ["it is of another machine", delivery([[gpu.info, card]], { host: "n2" })],
])("a frame passes unchanged where %s", (_, given) => {
  expect(transform(given)).toBe(given);
});

test("the NUMA node is read from sysfs; -1, no file and no address are absent", () => {
  const sysfs = mkdtempSync(path.join(tmpdir(), "gpulse-numa-"));
  for (const [address, text] of [
    ["0000:18:00.0", "1\n"],
    ["0000:19:00.0", "-1\n"],
  ] as const) {
    mkdirSync(path.join(sysfs, "bus/pci/devices", address), { recursive: true });
    writeFileSync(path.join(sysfs, "bus/pci/devices", address, "numa_node"), text);
  }
  const nodes = ["0000:18:00.0", "0000:19:00.0", "0000:1a:00.0", "../../../etc"].map((address) =>
    readNumaNode(sysfs, address),
  );
  rmSync(sysfs, { recursive: true });
  expect(nodes).toEqual([1, undefined, undefined, undefined]);
});
