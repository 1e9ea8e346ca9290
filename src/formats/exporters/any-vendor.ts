/** Exporters of GPUs of several vendors: all-smi, OpenTelemetry's `hw.*` conventions, node_exporter's DRM collector. */
import { gpu } from "../../model/catalogue/index.ts";
import { parseVendor, vendors, vendorTitle } from "../../model/vendor.ts";
import { megahertz, percent } from "../compat/convert.ts";
import { otelRows } from "../compat/otel.ts";
import { type ExporterMetric, type ExporterTable, is, metricsOf } from "./table.ts";

/** all-smi writes 0 if a device does not have the sensor. */
const orAbsent = (metric: ExporterMetric): ExporterMetric => ({ ...metric, zeroIsAbsent: true });

/** The vendor that a marketing name begins with or contains; undefined if there is none. */
function vendorOfModel(model: string): string | undefined {
  const text = model.toLowerCase();
  if (/\b(radeon|instinct)\b/.test(text)) return "amd";
  return vendors.find((vendor) => text.includes(vendorTitle(vendor).toLowerCase()));
}

export const allSmi: ExporterTable = {
  name: "all-smi",
  exporter: "all-smi",
  buildInfo: "all_smi_build_info",
  metrics: metricsOf([
    ["all_smi_gpu_utilization", is(gpu.utilization, {}, percent.read)],
    ["all_smi_gpu_memory_used_bytes", is(gpu.memoryUsed)],
    ["all_smi_gpu_memory_total_bytes", orAbsent(is(gpu.memoryTotal))],
    ["all_smi_gpu_temperature_celsius", orAbsent(is(gpu.temperature, { sensor: "edge" }))],
    ["all_smi_gpu_power_consumption_watts", orAbsent(is(gpu.power))],
    ["all_smi_gpu_frequency_mhz", orAbsent(is(gpu.clock, { domain: "graphics" }, megahertz.read))],
    ["all_smi_gpu_power_limit_current_watts", orAbsent(is(gpu.powerLimit))],
    ["all_smi_gpu_power_limit_max_watts", orAbsent(is(gpu.powerLimitMax))],
    [
      "all_smi_gpu_clock_graphics_max_mhz",
      orAbsent(is(gpu.clockMax, { domain: "graphics" }, megahertz.read)),
    ],
    [
      "all_smi_gpu_clock_memory_max_mhz",
      orAbsent(is(gpu.clockMax, { domain: "memory" }, megahertz.read)),
    ],
    ["all_smi_gpu_pcie_gen_current", orAbsent(is(gpu.pcieLinkGeneration))],
    ["all_smi_gpu_pcie_width_current", orAbsent(is(gpu.pcieLinkWidth))],
    ["all_smi_gpu_performance_state", is(gpu.performanceState)],
    [
      "all_smi_gpu_temperature_threshold_slowdown_celsius",
      orAbsent(is(gpu.temperatureLimit, { limit: "slowdown" })),
    ],
    [
      "all_smi_gpu_temperature_threshold_shutdown_celsius",
      orAbsent(is(gpu.temperatureLimit, { limit: "shutdown" })),
    ],
  ]),
  identify: (labels) => {
    const { gpu: model } = labels;
    const uuid = labels["uuid"] ?? labels["gpu_uuid"];
    const index = labels["index"] ?? labels["gpu_index"];
    if (model === undefined || (uuid === undefined && index === undefined)) return undefined;
    // `instance` is the scrape's label; if both exist, the exporter's own label is renamed.
    const host = labels["exported_instance"] ?? labels["hostname"];
    return { uuid, place: index, index, vendor: vendorOfModel(model), model, host };
  },
};

/** The suffix of a metric name per unit: attributes become labels with underscores; names lose their dots and may gain the unit. */
const otelUnits: Readonly<Record<string, string>> = {
  "1": "_ratio",
  By: "_bytes",
  W: "_watts",
  J: "_joules",
  Cel: "_celsius",
  V: "_volts",
};

function otelNames(name: string, unit: string, isCounter: boolean): readonly string[] {
  const plain = name.replaceAll(".", "_");
  const suffix = otelUnits[unit] ?? "";
  const long = plain.endsWith(suffix) ? plain : `${plain}${suffix}`;
  return [
    ...new Set([name, plain, long, ...(isCounter ? [`${plain}_total`, `${long}_total`] : [])]),
  ];
}

const underscored = (attributes: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name.replaceAll(".", "_"), value]),
  );

export const otel: ExporterTable = {
  name: "otel",
  exporter: "OpenTelemetry hw.* conventions",
  metrics: metricsOf(
    otelRows
      .filter(({ from }) => from !== gpu.up)
      .flatMap((row) =>
        otelNames(row.name, row.unit, row.instrument === "counter").map(
          (name): readonly [string, ExporterMetric] => [
            name,
            {
              metric: row.from,
              when: underscored(row.attributes ?? {}),
              labels: row.match,
              copy: row.part === undefined ? undefined : { [row.part.label]: "hw_sensor_location" },
            },
          ],
        ),
      ),
  ),
  identify: (labels) => {
    const uuid = labels["hw_parent"] ?? labels["hw_id"];
    if (uuid === undefined) return undefined;
    const title = labels["hw_vendor"];
    return {
      uuid,
      index: /^GPU (\d+)/.exec(labels["hw_name"] ?? "")?.[1],
      vendor: title === undefined ? undefined : (parseVendor(title.toLowerCase()) ?? title),
      model: labels["hw_model"],
      driver: labels["hw_driver_version"],
      vbios: labels["hw_firmware_version"],
      host: labels["host_name"],
      simulated: labels["simulated"] === "true",
    };
  },
};

export const nodeDrm: ExporterTable = {
  name: "node-drm",
  exporter: "node_exporter, DRM collector",
  buildInfo: "node_exporter_build_info",
  metrics: metricsOf([
    ["node_drm_gpu_busy_percent", is(gpu.utilization, {}, percent.read)],
    ["node_drm_memory_vram_size_bytes", is(gpu.memoryTotal)],
    ["node_drm_memory_vram_used_bytes", is(gpu.memoryUsed)],
    ["node_drm_memory_gtt_size_bytes", is(gpu.sharedMemoryTotal)],
    ["node_drm_memory_gtt_used_bytes", is(gpu.sharedMemoryUsed)],
    ["node_drm_memory_vis_vram_size_bytes", is(gpu.visibleMemoryTotal)],
    ["node_drm_memory_vis_vram_used_bytes", is(gpu.visibleMemoryUsed)],
  ]),
  infoNames: ["node_drm_card_info"],
  // The collector reads only amdgpu's files.
  identify: ({ card }) =>
    card === undefined ? undefined : { place: card, index: /\d+$/.exec(card)?.[0], vendor: "amd" },
};
