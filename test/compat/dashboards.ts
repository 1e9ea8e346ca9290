// What published dashboards and rules ask for, as expressions of our own with the same metrics, filters and groupings.
// Facts from: dcgm-exporter's Grafana dashboard 12239 and its default counters, nvidia_gpu_exporter's 14574, and AMD's.

export interface Query {
  readonly asks: string;
  readonly expression: string;
  /** Where a simulated fleet has the reading; else it takes a driver that reports it. */
  readonly simulated: boolean;
}

const query =
  (simulated: boolean) =>
  (asks: string, expression: string): Query => ({ asks, expression, simulated });
const sim = query(true);
const driver = query(false);

const byHost = 'Hostname=~".+",gpu=~".+"';
const byUuid = 'uuid=~"[0-9a-z-]+"';
const byGpu = 'hostname=~".+",gpu_id=~".+"';

/** Dashboard 12239. */
const dcgmPanels: readonly Query[] = [
  sim("hosts to choose from", `group by (Hostname) (DCGM_FI_DEV_FB_FREE{${byHost}})`),
  sim("hosts, newer name", 'group by (hostname, gpu) (DCGM_FI_DEV_FB_FREE{hostname=~".+"})'),
  sim("temperature", `max by (Hostname, gpu, UUID) (DCGM_FI_DEV_GPU_TEMP{${byHost}})`),
  sim("mean temperature", `avg(DCGM_FI_DEV_GPU_TEMP{${byHost}})`),
  sim("power", `max by (Hostname, gpu) (DCGM_FI_DEV_POWER_USAGE{${byHost}})`),
  sim("power of all", `sum(max by (gpu) (DCGM_FI_DEV_POWER_USAGE{${byHost}}))`),
  sim("clock in hertz", `max by (UUID, gpu) (DCGM_FI_DEV_SM_CLOCK{${byHost}} * 1000000)`),
  sim("engine", `max by (gpu, GPU_I_ID) (DCGM_FI_PROF_GR_ENGINE_ACTIVE{${byHost}})`),
  sim("tensor cores", `max by (gpu, GPU_I_ID) (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{${byHost}})`),
  sim("memory", `max by (Hostname, gpu, GPU_I_PROFILE) (DCGM_FI_DEV_FB_USED{${byHost}})`),
];

/** The default counters, and those shipped commented out. */
const dcgmCounters: readonly Query[] = [
  ...[
    "SM_CLOCK MEM_CLOCK MEMORY_TEMP GPU_TEMP POWER_USAGE PCIE_REPLAY_COUNTER GPU_UTIL MEM_COPY_UTIL",
    "ENC_UTIL DEC_UTIL XID_ERRORS FB_FREE FB_USED TOTAL_ENERGY_CONSUMPTION POWER_VIOLATION",
    "THERMAL_VIOLATION ECC_SBE_VOL_TOTAL ECC_DBE_VOL_TOTAL ECC_SBE_AGG_TOTAL ECC_DBE_AGG_TOTAL",
  ]
    .flatMap((line) => line.split(" "))
    .map((name) => sim(`counter ${name}`, `DCGM_FI_DEV_${name}{${byHost},device=~"nvidia[0-9]+"}`)),
  ...["PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE", "PCIE_TX_BYTES", "PCIE_RX_BYTES", "SM_ACTIVE"].map(
    (name) => sim(`profiling ${name}`, `DCGM_FI_PROF_${name}{${byHost},modelName=~"NVIDIA .+"}`),
  ),
  ...[
    "FB_RESERVED NVLINK_BANDWIDTH_TOTAL UNCORRECTABLE_REMAPPED_ROWS CORRECTABLE_REMAPPED_ROWS",
    "ROW_REMAP_FAILURE RETIRED_SBE RETIRED_DBE RETIRED_PENDING SYNC_BOOST_VIOLATION",
    "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL NVLINK_REPLAY_ERROR_COUNT_TOTAL",
  ]
    .flatMap((line) => line.split(" "))
    .map((name) => driver(`counter ${name}`, `DCGM_FI_DEV_${name}{${byHost},pci_bus_id=~".+"}`)),
  sim("memory in use", "DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)"),
  sim("an XID rule", 'DCGM_FI_DEV_XID_ERRORS{gpu=~".+"} > 0'),
  sim("watts from energy", "rate(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[30s]) / 1000"),
];

/** Dashboard 14574, the revision of 2021 and the newest. */
const smiPanels: readonly Query[] = [
  sim("machines to choose from", "group by (uuid) (nvidia_smi_index)"),
  sim("GPUs to choose from", `nvidia_smi_gpu_info{${byUuid},name=~".+",index=~"[0-9]+"}`),
  sim("driver and firmware", 'nvidia_smi_gpu_info{driver_version=~".+",vbios_version=~".+"}'),
  ...[
    "pstate utilization_gpu_ratio utilization_memory_ratio fan_speed_ratio temperature_gpu",
    "power_draw_watts memory_used_bytes memory_total_bytes enforced_power_limit_watts",
    "power_limit_watts power_default_limit_watts clocks_current_graphics_clock_hz",
    "clocks_current_memory_clock_hz clocks_current_sm_clock_hz clocks_current_video_clock_hz",
    "clocks_max_graphics_clock_hz clocks_max_memory_clock_hz pcie_throughput_tx_bytes_per_second",
    "pcie_throughput_rx_bytes_per_second energy_joules_total xid_errors_total",
    "xid_last_timestamp_seconds ecc_errors_uncorrected_aggregate_total",
  ]
    .flatMap((line) => line.split(" "))
    .map((name) => sim(`series ${name}`, `nvidia_smi_${name}{${byUuid}}`)),
  ...["event", "throttle"].flatMap((word) =>
    [
      "gpu_idle hw_thermal_slowdown sw_power_cap applications_clocks_setting",
      "hw_power_brake_slowdown sw_thermal_slowdown sync_boost hw_slowdown",
    ]
      .flatMap((line) => line.split(" "))
      .map((name) => {
        const asks = [
          `${word} reason ${name}`,
          `nvidia_smi_clocks_${word}_reasons_${name}`,
        ] as const;
        return /applications|sync/.test(name) ? driver(...asks) : sim(...asks);
      }),
  ),
  sim("share of power", "nvidia_smi_power_draw_watts / nvidia_smi_enforced_power_limit_watts"),
  sim(
    "share of clock",
    "nvidia_smi_clocks_current_graphics_clock_hz / nvidia_smi_clocks_max_graphics_clock_hz",
  ),
  sim("share of memory", "nvidia_smi_memory_used_bytes / nvidia_smi_memory_total_bytes"),
  sim(
    "reasons now",
    "sum by (uuid) (nvidia_smi_clocks_event_reasons_sw_power_cap) + sum by (uuid) (nvidia_smi_gpu_info) * 0",
  ),
  sim("uncorrected errors", 'sum by (uuid) ({__name__=~"nvidia_smi_ecc_errors_uncorrected_.+"})'),
  sim("watts from energy", "rate(nvidia_smi_energy_joules_total[30s])"),
  sim("an XID rule", "time() - nvidia_smi_xid_last_timestamp_seconds < 86400"),
  sim("reads go well", "nvidia_smi_last_collect_success == 1"),
  ...["gpu_recovery_action", "compute_mode", "fabric_state", "compute_apps"].map((name) =>
    driver(`series ${name}`, `nvidia_smi_${name}{${byUuid}}`),
  ),
  driver("processes", 'nvidia_smi_compute_app_info{pid=~"[0-9]+",process_name=~".+"}'),
  driver(
    "memory of processes",
    'nvidia_smi_compute_app_used_memory_bytes{process_name=~".+"} / on (uuid) group_left () nvidia_smi_memory_total_bytes',
  ),
  driver("process list is read", "nvidia_smi_compute_apps_last_collect_success"),
];

/** The boards AMD's dashboards distinguish by `card_model`: MI250X, MI210 and MI250, and the MI300s. */
const mi200 = "102-D65208-0C|102-D67305-00|102-D65209-0C";
const mi300 = "102-G30211-00|102-G30211-0C|102-G30211-4C|102-G30212-0C|102-G30213-00|102-G30213-0C";

/** AMD's own dashboards: overview, GPU, job and node. Each panel asks for MI200 in one query and for all others in a second. */
const amdPanels: readonly Query[] = [
  driver("use of MI200", `max by (gpu_id) (gpu_gfx_activity{${byGpu},card_model=~"${mi200}"})`),
  sim("use", `avg(gpu_gfx_busy_instantaneous{${byGpu},card_model!~"${mi200}"})`),
  sim("use of a die", `gpu_gfx_busy_instantaneous{card_model!~"${mi200}",xcc_index=~"[0-9]+"}`),
  sim("GPUs of a node", `sum(group by (gpu_id) (gpu_gfx_busy_instantaneous{${byGpu}}))`),
  sim(
    "busy GPUs",
    `sum(group by (gpu_uuid) (gpu_gfx_busy_instantaneous{card_model!~"${mi200}"} > 0))`,
  ),
  sim(
    "jobs",
    `sum(group by (job_id) (gpu_gfx_busy_instantaneous{job_id!="",card_model!~"${mi200}"}))`,
  ),
  driver(
    "pods",
    `sum(group by (pod) (gpu_gfx_busy_instantaneous{pod!="",card_model!~"${mi200}"}))`,
  ),
  sim("unhealthy GPUs", "count(gpu_health < 1) or vector(0)"),
  sim("power of MI300", `gpu_package_power{${byGpu},card_model=~"${mi300}"}`),
  sim("power", `gpu_average_package_power{${byGpu},card_model!~"${mi300}"}`),
  sim(
    "power of all",
    "(sum(gpu_average_package_power) or vector(0)) + (sum(gpu_package_power) or vector(0))",
  ),
  sim("temperature of MI300", `avg(gpu_junction_temperature{card_model=~"${mi300}"})`),
  sim("temperature", `avg(gpu_edge_temperature{card_model!~"${mi300}"})`),
  sim(
    "texts about a card",
    'gpu_health{card_vendor=~".+",card_series=~".+",driver_version=~".+",vbios_version=~".+"}',
  ),
  ...["recovery", "replay_rollover", "nack_sent", "nack_received"].map((name) =>
    driver(`PCIe ${name}`, `sum(delta(pcie_${name}_count{${byGpu}}[30s]))`),
  ),
  ...[
    "gpu_average_package_power gpu_package_power gpu_power_usage gpu_health gpu_gfx_activity",
    "gpu_umc_activity gpu_used_vram gpu_total_vram gpu_free_vram gpu_junction_temperature",
    "gpu_memory_temperature gpu_edge_temperature pcie_max_speed pcie_speed pcie_replay_count",
    "gpu_energy_consumed gpu_ecc_correct_total gpu_ecc_uncorrect_total pcie_bandwidth",
  ]
    .flatMap((line) => line.split(" "))
    .map((name) => sim(`series ${name}`, `${name}{${byGpu},gpu_uuid=~".+",card_model=~".+"}`)),
  sim("clocks", 'gpu_clock{clock_type="system",gpu_partition_id="0"}'),
  sim("memory clock", 'gpu_clock{clock_type="memory"}'),
  sim("GPUs", 'gpu_nodes_total{hostname=~".+"}'),
  sim("share of memory", "gpu_used_vram / gpu_total_vram * 100"),
  sim("replays", "delta(pcie_replay_count[30s])"),
  driver("links", 'rate(gpu_xgmi_link_rx{link_index=~"[0-9]+"}[30s])'),
  driver("visible memory", "gpu_free_visible_vram + gpu_used_visible_vram"),
];

export const queries: readonly Query[] = [
  ...dcgmPanels,
  ...dcgmCounters,
  ...smiPanels,
  ...amdPanels,
];
