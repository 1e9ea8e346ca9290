// Tests the values of the NVIDIA source over a scripted stand-in for NVML.

import { expect, test } from "vitest";

import { waitUntil } from "../../engines/wait.ts";
import { eventually, pick, read, useStub } from "./harness.ts";

const nvml = useStub();

test("eight GPUs are reported with their identity, and none of their serial numbers", async () => {
  const source = nvml.open();
  await source.read("fast", 1_000);
  expect(source.devices()).toHaveLength(8);
  expect(source.devices()[3]).toEqual({
    uuid: "GPU-00000003-0000-4000-8000-000000000000",
    index: 3,
    minor: 3,
    vendor: "nvidia",
    model: "NVIDIA Stub 80GB",
    simulated: false,
    pciBusId: "0000:13:00.0",
    driver: "580.95.05",
    vbios: "96.00.00.00.01",
    linkType: "PCIe",
  });
});

test("fast values come out as scripted, in the catalogue's units", async () => {
  nvml.stub.script(
    "gpus 2",
    "*.power 1",
    "1.power 312345",
    "1.utilization 97",
    "1.memory_utilization 35",
    "1.memory 42949672960",
    "1.temperature 71",
    "1.margin -3",
    "1.clock_sm 1485",
    "1.reasons 68",
    "1.pstate 2",
    "1.fans 2",
    "1.field_82 88",
    "1.field_186 299000",
    "1.field_185_2 90500",
    "1.field_74 4008544123",
    "1.field_271 1500000",
  );
  const values = await read(nvml.open(), "fast");
  const wanted: Record<string, number | string> = {
    "1 gpu_up{}": 1,
    "1 gpu_power_watts{}": 312.345,
    "0 gpu_power_watts{}": 0.001,
    "1 gpu_utilization_ratio{}": 0.97,
    "1 gpu_memory_controller_utilization_ratio{}": 0.35,
    "1 gpu_encoder_utilization_ratio{}": 0.03,
    "1 gpu_decoder_utilization_ratio{}": 0.04,
    "1 gpu_memory_used_bytes{}": 42_949_672_960,
    "1 gpu_memory_free_bytes{}": 85_899_345_920 - 42_949_672_960 - 1_048_576,
    "1 gpu_memory_visible_used_bytes{}": 2_097_152,
    "1 gpu_temperature_celsius{sensor=edge}": 71,
    "1 gpu_temperature_celsius{sensor=memory}": 88,
    "0 gpu_temperature_celsius{sensor=memory}": "unsupported",
    "1 gpu_temperature_margin_celsius{}": -3,
    "1 gpu_clock_hertz{domain=sm}": 1_485e6,
    "1 gpu_throttle_active{reason=power_cap}": 1,
    "1 gpu_throttle_active{reason=thermal_hardware}": 1,
    "1 gpu_throttle_active{reason=thermal}": 0,
    "1 gpu_performance_state{}": 2,
    "1 gpu_fan_speed_ratio{fan=2}": 0.35,
    "1 gpu_fan_rpm{fan=1}": 1_500,
    "1 gpu_power_instant_watts{}": 299,
    "1 gpu_memory_power_watts{}": 90.5,
    "1 gpu_throttle_seconds_total{reason=power_cap}": 4.009,
    "1 gpu_throttle_seconds_total{reason=power_brake}": 0.002,
    "1 gpu_throttle_seconds_total{reason=thermal}": "unsupported",
  };
  expect(pick(values, wanted)).toEqual(wanted);
  expect([...values.keys()].filter((name) => name.startsWith("0 gpu_fan"))).toEqual([]);
});

test.for([
  ["570.172.08", "unsupported"],
  ["575.57.08", 2],
  ["580.65.06", 2],
  ["580.82.07", 5],
] as const)(
  "on driver %s, heat has held the clock down for %s s: the ids of these counters have moved",
  async ([driver, seconds]) => {
    const isOld = driver.startsWith("570");
    nvml.stub.script(
      "gpus 1",
      `driver ${driver}`,
      ...(isOld ? [] : ["0.field_251 2000000000", "0.field_269 5000000000"]),
    );
    const values = await read(nvml.open(), "fast");
    const wanted = { "0 gpu_throttle_seconds_total{reason=thermal}": seconds };
    expect(pick(values, wanted)).toEqual(wanted);
  },
);

test("on a driver whose ids are unknown these counters have no series", async () => {
  nvml.stub.script("gpus 1", "driver 580.76.05", "0.field_251 1", "0.field_269 1");
  const values = await read(nvml.open(), "fast");
  expect([...values.keys()].filter((name) => name.startsWith("0 gpu_throttle_seconds"))).toEqual([
    "0 gpu_throttle_seconds_total{reason=power_cap}",
    "0 gpu_throttle_seconds_total{reason=sync_boost}",
  ]);
});

test("slow and static values come out as scripted, also the links and the peers", async () => {
  nvml.stub.script(
    "gpus 3",
    "2.energy 987654321",
    "2.gpm 0",
    "2.pcie_receive 59494449",
    "2.replays 12",
    "2.ecc_uncorrected 2",
    "2.ecc_lifetime_corrected 40",
    "2.field_142 3",
    "2.field_145 1",
    "link 2 4",
    "2.link_3 0",
    "2.field_138 1000",
    "2.field_164 26562",
    "2.field_52 17",
    "p2p 2 0 3",
    "2.ecc_mode 0",
  );
  const source = nvml.open();
  const slow = await read(source, "slow");
  const fixed = await read(source, "static");
  const wanted: Record<string, number | string> = {
    "2 gpu_energy_joules_total{}": 987_654.321,
    "2 gpu_power_limit_watts{}": 700,
    "2 gpu_memory_reserved_bytes{}": 1_048_576,
    "2 gpu_pcie_throughput_bytes_per_second{direction=receive}": 59_494_449_000,
    "2 gpu_pcie_link_generation{}": 5,
    "2 gpu_pcie_link_width{}": 16,
    "2 gpu_pcie_replays_total{}": 12,
    "2 gpu_ecc_errors_total{type=uncorrected}": 2,
    "2 gpu_ecc_lifetime_errors_total{type=corrected}": 40,
    "2 gpu_remapped_rows{cause=corrected}": 3,
    "2 gpu_row_remap_failed{}": 1,
    "2 gpu_retired_pages{cause=corrected}": "unsupported",
    "2 gpu_interconnect_up{link=0}": 1,
    "2 gpu_interconnect_up{link=3}": 0,
    "2 gpu_interconnect_bandwidth_bytes_per_second{link=0}": 26_562e6,
    "2 gpu_interconnect_bytes_total{direction=transmit,link=all}": 1_024_000,
    "2 gpu_interconnect_errors_total{link=all,type=replay}": 17,
    "2 gpu_mig_enabled{}": 0,
    "2 gpu_processes{}": 0,
  };
  expect(pick(slow, wanted)).toEqual(wanted);
  const uuid = (gpu: number): string => `GPU-0000000${gpu}-0000-4000-8000-000000000000`;
  const wantedFixed: Record<string, number | string> = {
    "2 gpu_memory_total_bytes{}": 85_899_345_920,
    "2 gpu_memory_visible_total_bytes{}": 137_438_953_472,
    "2 gpu_temperature_limit_celsius{limit=slowdown}": 89,
    "2 gpu_temperature_limit_celsius{limit=shutdown}": 95,
    "2 gpu_temperature_limit_celsius{limit=target}": 83,
    "2 gpu_power_limit_min_watts{}": 200,
    "2 gpu_power_limit_max_watts{}": 700,
    "2 gpu_power_limit_default_watts{}": 700,
    "2 gpu_clock_max_hertz{domain=memory}": 2_619e6,
    "2 gpu_pcie_link_generation_max{}": 5,
    "2 gpu_pcie_link_width_max{}": 16,
    "2 gpu_ecc_enabled{}": 0,
    "2 gpu_persistence_enabled{}": 1,
    [`2 gpu_p2p_accessible{peer=${uuid(0)}}`]: 0,
    [`2 gpu_p2p_accessible{peer=${uuid(1)}}`]: 1,
  };
  expect(pick(fixed, wantedFixed)).toEqual(wantedFixed);
  expect([...slow.keys()].filter((name) => name.startsWith("0 gpu_interconnect"))).toEqual([]);
});

test("a card that reports only a margin has no limit in °C, and none that moves with the load", async () => {
  const card = (celsius: number, margin: number): string[] => [
    "gpus 1",
    "*.limit_slowdown.rc 3",
    "*.limit_shutdown.rc 3",
    "*.field_193 -8",
    "*.field_194 -2",
    `*.temperature ${celsius}`,
    `*.margin ${margin}`,
  ];
  nvml.stub.script(...card(39, 48));
  const source = nvml.open();
  const limits = async (): Promise<unknown> =>
    pick(await read(source, "static"), {
      "0 gpu_temperature_limit_celsius{limit=slowdown}": "",
      "0 gpu_temperature_limit_celsius{limit=shutdown}": "",
    });
  const none = {
    "0 gpu_temperature_limit_celsius{limit=slowdown}": "unsupported",
    "0 gpu_temperature_limit_celsius{limit=shutdown}": "unsupported",
  };
  expect(await limits()).toEqual(none);
  expect((await read(source, "fast")).get("0 gpu_temperature_margin_celsius{}")).toBe(48);
  nvml.stub.script(...card(60, 19));
  await eventually(source, "fast", "0 gpu_temperature_margin_celsius{}", 19);
  expect(await limits()).toEqual(none);
});

test("a card that reports no margin has no margin series, so that the common derivation makes one", async () => {
  nvml.stub.script("gpus 1", "*.margin.rc 3");
  expect([...(await read(nvml.open(), "fast")).keys()]).not.toContain(
    "0 gpu_temperature_margin_celsius{}",
  );
});

test.for([
  [1, "failed"],
  [2, "unsupported"],
  [3, "unsupported"],
  [4, "denied"],
  [10, "failed"],
  [13, "unsupported"],
  [14, "failed"],
  [17, "failed"],
  [20, "failed"],
  [21, "failed"],
  [26, "unsupported"],
  [27, "failed"],
  [999, "failed"],
  [4711, "failed"],
] as const)("a call that ends with code %i is %s, and never 0", async ([code, state]) => {
  nvml.stub.script("gpus 2", `1.encoder.rc ${code}`);
  const values = await read(nvml.open(), "fast");
  expect(values.get("1 gpu_encoder_utilization_ratio{}")).toBe(state);
  expect(values.get("0 gpu_encoder_utilization_ratio{}")).toBe(code === 1 ? "failed" : 0.03);
});

test("XIDs are counted as they come, with their time, and have no series before", async () => {
  nvml.stub.script("gpus 2");
  const source = nvml.open();
  expect(
    [...(await read(source, "slow")).keys()].filter((name) => name.includes("gpu_xid_errors")),
  ).toEqual([]);
  nvml.stub.script("gpus 2", "xid 1 79 2", "xid 1 31 1");
  await eventually(source, "slow", "1 gpu_xid_errors_total{xid=79}", 2);
  const values = await read(source, "slow");
  expect(values.get("1 gpu_xid_errors_total{xid=31}")).toBe(1);
  expect(
    Math.abs(Number(values.get("1 gpu_xid_last_timestamp_seconds{xid=79}")) - Date.now() / 1_000),
  ).toBeLessThan(30);
  nvml.stub.script("gpus 2", "xid 1 79 3");
  await eventually(source, "slow", "1 gpu_xid_errors_total{xid=79}", 3);
});

test("processes are counted once each and reported only where asked for, with share and kind", async () => {
  const script = [
    "gpus 2",
    `process 0 ${process.pid} 2e9 C`,
    `process 0 ${process.pid} 2e9 G`,
    "process 0 4194303 1e9 C",
    "process 0 4194302 -1 G",
    "0.process_share 55",
  ];
  nvml.stub.script(...script);
  const quiet = await read(nvml.open(), "slow");
  expect(quiet.get("0 gpu_processes{}")).toBe(3);
  expect(quiet.get("1 gpu_processes{}")).toBe(0);
  expect([...quiet.keys()].filter((name) => name.includes("gpu_process_"))).toEqual([]);
  expect([...quiet.keys()].some((name) => name.startsWith("0 gpu_owner_info{"))).toBe(true);
  const reported = await read(nvml.open(true), "slow");
  const of = (metric: string): [string, number | string][] =>
    [...reported].filter(([name]) => name.includes(metric));
  expect(of("gpu_process_memory_bytes").map(([, value]) => value)).toEqual([
    2e9,
    1e9,
    "unsupported",
  ]);
  expect(of("gpu_process_memory_bytes")[0]?.[0]).toMatch(
    new RegExp(`kind=both.*pid=${process.pid}`),
  );
  expect(of("gpu_process_utilization_ratio").map(([, value]) => value)).toEqual([0.55, 0.55, 0.55]);
  expect(of("gpu_process_info").map(([, value]) => value)).toEqual([1, 1, 1]);
});

test("more processes than there is room for are all counted, and the largest 20 reported", async () => {
  nvml.stub.script(
    "gpus 1",
    ...Array.from({ length: 300 }, (_, index) => `process 0 ${4_000_000 + index} ${1e6 + index} C`),
  );
  const values = await read(nvml.open(true), "slow");
  expect(values.get("0 gpu_processes{}")).toBe(300);
  expect(
    [...values.keys()].filter((name) => name.includes("gpu_process_memory_bytes")),
  ).toHaveLength(20);
});

test("a process counts for its own compute instance, not for others of the same GPU instance", async () => {
  nvml.stub.script(
    "gpus 1",
    "mig 0 3",
    "0.mig_parts 2",
    "process 0 4000001 5e8 C 7 1",
    "process 0 4000002 5e8 C 7 0",
    "process 0 4000003 5e8 C 7 1",
    "process 0 4000004 5e8 C 8 0",
  );
  const slow = await read(nvml.open(), "slow");
  expect([0, 1, 2].map((at) => slow.get(`mig${at} gpu_processes{}`))).toEqual([1, 2, 1]);
  expect(slow.get("0 gpu_processes{}")).toBe(4);
});

test("modes, pending modes, the fabric, the recovery action and the driver's mask come out as scripted", async () => {
  nvml.stub.script(
    "gpus 2",
    "0.compute_mode 3",
    "0.fabric 3",
    "0.field_230 4",
    "0.ecc_mode 0",
    "0.ecc_pending 1",
    "0.reasons 5",
    "0.field_185 240000",
    "0.jpeg 17",
    "1.ofa.rc 3",
  );
  const source = nvml.open();
  const values = new Map([
    ...(await read(source, "fast")),
    ...(await read(source, "slow")),
    ...(await read(source, "static")),
  ]);
  const wanted: Record<string, number | string> = {
    "0 gpu_compute_mode{}": 3,
    "0 gpu_fabric_state{}": 3,
    "1 gpu_fabric_state{}": "unsupported",
    "0 gpu_recovery_action{}": 4,
    "1 gpu_recovery_action{}": "unsupported",
    "0 gpu_ecc_enabled{}": 0,
    "0 gpu_ecc_pending{}": 1,
    "0 gpu_mig_pending{}": 0,
    "0 gpu_clock_event_reasons_mask{}": 5,
    "0 gpu_throttle_active{reason=power_cap}": 1,
    "0 gpu_power_average_watts{}": 240,
    "1 gpu_power_average_watts{}": "unsupported",
    "0 gpu_jpeg_utilization_ratio{}": 0.17,
    "0 gpu_ofa_utilization_ratio{}": 0.06,
    "1 gpu_ofa_utilization_ratio{}": "unsupported",
  };
  expect(pick(values, wanted)).toEqual(wanted);
});

test("a GPU whose XID errors the driver does not report is not watched, and says so", async () => {
  nvml.stub.script("gpus 2", "1.events.rc 3");
  const values = await read(nvml.open(), "slow");
  expect([values.get("0 gpu_xid_watched{}"), values.get("1 gpu_xid_watched{}")]).toEqual([
    1,
    "unsupported",
  ]);
});

test("MIG instances are devices of their own with the index of their GPU", async () => {
  nvml.stub.script("gpus 1", "mig 0 3", "0.utilization.rc 3", "process 0 4000001 5e8 C 8 0");
  const source = nvml.open();
  const fast = await read(source, "fast");
  expect(
    source.devices().map(({ uuid, index, model }) => [uuid.slice(0, 3), index, model]),
  ).toEqual([
    ["GPU", 0, "NVIDIA Stub 80GB"],
    ["MIG", 0, "NVIDIA Stub 80GB MIG 1g.10gb"],
    ["MIG", 0, "NVIDIA Stub 80GB MIG 1g.10gb"],
    ["MIG", 0, "NVIDIA Stub 80GB MIG 1g.10gb"],
  ]);
  expect(fast.get("0 gpu_utilization_ratio{}")).toBe("unsupported");
  expect(fast.get("mig2 gpu_memory_used_bytes{}")).toBe(134_217_728);
  expect(fast.get("mig1 gpu_up{}")).toBe(1);
  const slow = await read(source, "slow");
  expect(slow.get("0 gpu_mig_enabled{}")).toBe(1);
  expect([0, 1, 2].map((at) => slow.get(`mig${at} gpu_processes{}`))).toEqual([0, 1, 0]);
  await eventually(source, "slow", "mig0 gpu_sm_activity_ratio{}", 0.2);
});

test("activity by GPM is there with the first slow read, which takes both samples", async () => {
  nvml.stub.script("gpus 2", "0.gpm_2 95.273", "0.gpm_5 92.5", "0.gpm_10 11.6", "1.gpm 0");
  const values = await read(nvml.open(), "slow");
  expect(values.get("0 gpu_sm_activity_ratio{}")).toBe(0.9527);
  expect(values.get("0 gpu_tensor_activity_ratio{}")).toBe(0.925);
  expect(values.get("0 gpu_dram_activity_ratio{}")).toBe(0.116);
  expect(values.get("1 gpu_sm_activity_ratio{}")).toBe("unsupported");
});

test("every metric of GPM comes from one call; an id without a name is unsupported, one that is 0 is 0", async () => {
  nvml.stub.script(
    "gpus 1",
    "link 0 2",
    "0.gpm_3 14.1",
    "0.gpm_6 0",
    "0.gpm_9.rc 3",
    "0.gpm_12 76.1",
    "0.gpm_20 3368",
    "0.gpm_30 40",
    "0.gpm_60 1000",
    "0.gpm_65 7",
  );
  nvml.stub.logCalls();
  const values = await read(nvml.open(), "slow");
  const wanted = {
    "0 gpu_graphics_activity_ratio{}": 0.1,
    "0 gpu_sm_occupancy_ratio{}": 0.141,
    "0 gpu_tensor_pipe_activity_ratio{pipe=fp64}": 0,
    "0 gpu_tensor_pipe_activity_ratio{pipe=half}": 0.7,
    "0 gpu_tensor_pipe_activity_ratio{pipe=int8}": "unsupported",
    "0 gpu_fp32_activity_ratio{}": 0.761,
    "0 gpu_pcie_throughput_bytes_per_second{direction=transmit}": 3_368 * 1_048_576,
    "0 gpu_decoder_engine_activity_ratio{engine=0}": 0.4,
    "0 gpu_decoder_engine_activity_ratio{engine=1}": "unsupported",
    "0 gpu_ofa_engine_activity_ratio{engine=0}": "unsupported",
    "0 gpu_interconnect_throughput_bytes_per_second{direction=receive}": 1_048_576_000,
    "0 gpu_interconnect_link_throughput_bytes_per_second{direction=transmit,link=1}": 7_340_032,
    "0 gpu_interconnect_link_throughput_bytes_per_second{direction=transmit,link=0}": "unsupported",
    "0 gpu_c2c_throughput_bytes_per_second{direction=receive}": "unsupported",
  };
  expect(pick(values, wanted)).toEqual(wanted);
  expect(nvml.stub.calls().filter(({ key }) => key === "gpm_metrics")).toHaveLength(1);
});

test("the clock of a busy GPU with GPM is read between passes, for its mean; that of others is not", async () => {
  nvml.stub.script("gpus 3", "0.utilization 80", "0.clock_sm 1500", "1.utilization 0", "2.gpm 0");
  nvml.stub.logCalls();
  const source = nvml.open();
  await read(source, "fast");
  const first = await read(source, "slow");
  expect(first.get("0 gpu_clock_mean_hertz{domain=sm}")).toBe(1_500_000_000);
  expect(first.get("2 gpu_clock_mean_hertz{domain=sm}")).toBe("unsupported");
  await read(source, "fast");
  const clocks = (gpu: number): number =>
    nvml.stub.calls().filter((call) => call.gpu === gpu && call.key === "clock_sm").length;
  const before = clocks(1);
  await waitUntil(
    { what: "the busy GPU's clock to be read", timeoutMs: 9_000 },
    async () => clocks(0) >= before + 5,
  );
  expect([clocks(1), clocks(2)]).toEqual([before, before]);
  nvml.stub.script("gpus 3", "0.utilization 80", "0.clock_sm 1000", "2.gpm 0");
  await eventually(source, "slow", "0 gpu_clock_mean_hertz{domain=sm}", 1_000_000_000);
});

test("a library that names no GPM metric is believed by its codes alone", async () => {
  nvml.stub.script("gpus 1", "0.gpm_nameless 1", "0.gpm_6 0");
  const values = await read(nvml.open(), "slow");
  expect(values.get("0 gpu_tensor_pipe_activity_ratio{pipe=fp64}")).toBe(0);
  expect(values.get("0 gpu_c2c_throughput_bytes_per_second{direction=receive}")).toBe(0);
});

test("PCIe rates of GPM replace the call that blocks, which stays where GPM has none", async () => {
  nvml.stub.script("gpus 3", "1.gpm 0", "2.gpm_20.rc 3", "2.gpm_21.rc 3");
  nvml.stub.logCalls();
  const source = nvml.open();
  const transmit = "gpu_pcie_throughput_bytes_per_second{direction=transmit}";
  const values = await read(source, "slow");
  expect(values.get(`0 ${transmit}`)).toBe(2_000 * 1_048_576);
  expect(values.get(`1 ${transmit}`)).toBe(1_000_000);
  await eventually(source, "slow", `2 ${transmit}`, 1_000_000);
  const blocking = nvml.stub.calls().filter(({ key }) => key === "pcie_transmit");
  expect(new Set(blocking.map(({ gpu }) => gpu))).toEqual(new Set([1, 2]));
});

test("a MIG instance has every activity by its own samples", async () => {
  nvml.stub.script("gpus 1", "mig 0 2", "0.gi7.gpm_1 50", "0.gi8.gpm_1 60", "0.gi8.gpm_12 33");
  const source = nvml.open();
  await eventually(source, "slow", "mig1 gpu_fp32_activity_ratio{}", 0.33);
  const values = await read(source, "slow");
  const wanted = {
    "mig0 gpu_utilization_ratio{}": 0.5,
    "mig1 gpu_utilization_ratio{}": 0.6,
    "mig1 gpu_graphics_activity_ratio{}": 0.6,
    "mig0 gpu_tensor_pipe_activity_ratio{pipe=half}": 0.7,
    "0 gpu_fp32_activity_ratio{}": 0.6,
  };
  expect(pick(values, wanted)).toEqual(wanted);
});
