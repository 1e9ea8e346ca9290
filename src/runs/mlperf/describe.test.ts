import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { machineAt, serverTree, twoH200, writeTree } from "../../../test/fixtures/runs/snapshot.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import { takeSnapshot } from "../snapshot/take.ts";
import { describeForMlperf } from "./describe.ts";
import { requiredFields } from "./fields.ts";

let snapshot: Snapshot;
let root = "";
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), "gpulse-mlperf-"));
  await writeTree(root, serverTree);
  const machine = machineAt(root);
  snapshot = await takeSnapshot({ machine, gpus: twoH200(), host: "n", nowMs: 0, version: "1" });
});
afterAll(() => rm(root, { recursive: true }));

test("fills in what is known and names the rest", () => {
  const { system, missing } = describeForMlperf(snapshot);
  expect(system).toMatchObject({
    number_of_nodes: "1",
    host_processor_model_name: "AMD EPYC 9654",
    host_processors_per_node: "2",
    host_processor_core_count: "2",
    host_processor_vcpu_count: "4",
    host_memory_capacity: "256 GiB",
    host_storage_type: "nvme",
    accelerators_per_node: "2",
    accelerator_model_name: "NVIDIA H200",
    accelerator_host_interconnect: "PCIe Gen5 x16",
    other_software_stack: "NVIDIA driver 580.95.05, CUDA toolkit 12.8.1",
    boot_firmware_version: "2.4.1",
    submitter: "",
  });
  const fields = missing.map(({ field }) => field);
  expect(fields).toContain("submitter");
  for (const [field, value] of Object.entries(system))
    expect([field, fields.includes(field)]).toEqual([field, value === ""]);
});

test("what a GPU measures of itself is never given as power", () => {
  const { system } = describeForMlperf(snapshot);
  expect(Object.keys(system).filter((field) => field.includes("power"))).toEqual([]);
  expect(JSON.stringify(system)).not.toContain("76 W");
});

test("simulated GPUs and narrowed machines are warned of", () => {
  const { warnings } = describeForMlperf({
    ...snapshot,
    simulated: true,
    hidden: ["Memory is limited."],
  });
  expect(warnings).toEqual([
    "The GPUs are simulated: this describes no machine that exists.",
    "Memory is limited.",
  ]);
});

/** `SYSTEM_DESC_REQUIRED_FIELDS` of MLPerf Inference's submission checker at v6.0: all of them must be present. */
const inferenceFields =
  `division submitter status system_name number_of_nodes host_processor_model_name
host_processors_per_node host_processor_core_count host_memory_capacity host_storage_capacity host_storage_type
accelerators_per_node accelerator_model_name accelerator_memory_capacity framework operating_system system_type
other_software_stack host_processor_frequency host_processor_caches host_memory_configuration
host_processor_interconnect host_networking host_networking_topology accelerator_frequency
accelerator_host_interconnect accelerator_interconnect accelerator_interconnect_topology
accelerator_memory_configuration accelerator_on-chip_memories cooling hw_notes sw_notes host_network_card_count
system_type_detail`.split(/\s+/);

test("every field of MLPerf Inference's checker is there, and those it refuses empty are named", () => {
  const { system, missing } = describeForMlperf(snapshot);
  expect(inferenceFields.filter((field) => !(field in system))).toEqual([]);
  expect([...requiredFields].filter((field) => !inferenceFields.includes(field))).toEqual([]);
  const required = missing.filter((one) => one.required).map(({ field }) => field);
  for (const field of requiredFields)
    expect([field, system[field] === ""]).toEqual([field, required.includes(field)]);
  expect(missing.find(({ field }) => field === "sw_notes")?.required).toBe(false);
});
