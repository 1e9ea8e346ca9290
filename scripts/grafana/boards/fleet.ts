/** Every GPU at a glance: inventory, problems, hot and idle GPUs. Queries over time use recording rules. */
import { gpu } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import { type Board, falling, none, rising } from "../shape.ts";
import { ask, gpuName, hosts, models, window } from "./ask.ts";

const at = '{host=~"$host"}';
const ofModel = 'and on (host, uuid) gpu_info{model=~"$model"}';
/** A GPU that is reported twice, by its agent and by a hub, counts once. */
const once = (metric: string, more = ""): string =>
  `max by (host, uuid) (${metric}{host=~"$host"${more}})`;
const toGpu = { uid: "gpulse-gpu", labels: ["host", "gpu"] } as const;
const edges = '{host=~"$host",sensor=~"edge|hotspot"}';

export const fleet: Board = {
  uid: "gpulse-fleet",
  title: "gpulse: fleet overview",
  about: "Every GPU of every host: use, heat, power, and what needs a person.",
  tags: ["gpu"],
  source: "prometheus",
  variables: [hosts, models],
  rows: [
    {
      title: "System overview",
      panels: [
        metricPanel(gpu.up, {
          title: "GPUs",
          todo: "Counted here are all that were ever seen.",
          kind: "stat",
          targets: [ask(`count(${once("gpu_up")} ${ofModel})`, "GPUs")],
          width: 3,
          height: 5,
        }),
        metricPanel(gpu.up, {
          title: "GPUs that do not answer",
          todo: "More than none: look for an XID error or a lost device in the kernel's log, then reset or drain the machine.",
          kind: "stat",
          targets: [ask(`count(${once("gpu_up")} == 0) or 0 * count(${once("gpu_up")})`, "down")],
          steps: none,
          width: 3,
          height: 5,
        }),
        metricPanel(gpu.info, {
          title: "Simulated GPUs",
          todo: "These numbers come from a model, not from hardware.",
          kind: "stat",
          targets: [
            ask(
              `count(${once("gpu_info", ',simulated="true"')}) or 0 * count(${once("gpu_info")})`,
              "simulated",
            ),
          ],
          steps: [
            [null, "green"],
            [1, "blue"],
          ],
          width: 3,
          height: 5,
        }),
        metricPanel(gpu.utilization, {
          kind: "gauge",
          targets: [ask(`avg(${once("gpu_utilization_ratio")} ${ofModel})`, "mean")],
          steps: falling(0.2, 0.4),
          width: 4,
          height: 5,
        }),
        metricPanel(gpu.memoryUsedRatio, {
          title: "GPU memory used",
          kind: "gauge",
          targets: [
            ask(
              `sum(${once("gpu_memory_used_bytes")}) / sum(${once("gpu_memory_total_bytes")})`,
              "of all",
            ),
          ],
          steps: rising(0.9, 0.97),
          width: 4,
          height: 5,
        }),
        metricPanel(gpu.power, {
          kind: "stat",
          targets: [ask(`sum(${once("gpu_power_watts")} ${ofModel})`, "all GPUs")],
          width: 4,
          height: 5,
        }),
        {
          title: "Firing alerts",
          kind: "stat",
          unit: "short",
          about:
            "Alerts that fire now. The alerts dashboard names them; the runbook says what to do.",
          targets: [ask('count(ALERTS{alertstate="firing"}) or vector(0)', "firing")],
          steps: rising(1, 5),
          width: 3,
          height: 5,
        },
        {
          title: "System overview",
          kind: "table",
          unit: "short",
          about:
            "A row per host. Sums and means are recorded every minute by rules/fleet.yml; a host without GPUs is not here.",
          targets: [
            ask(`host:gpus:count${at}`, "GPUs"),
            ask(`host:gpu_utilization_ratio:avg${at}`, "utilisation", "percentunit"),
            ask(`host:gpu_memory_used_bytes:sum${at}`, "GPU memory used", "bytes"),
            ask(`host:gpu_power_watts:sum${at}`, "power", "watt"),
            ask(`host:gpu_temperature_celsius:max${at}`, "hottest", "celsius"),
            ask(`max by (host) (host_load1${at})`, "load"),
            ask(
              `max by (host) (host_memory_used_bytes${at} / host_memory_total_bytes${at})`,
              "memory used",
              "percentunit",
            ),
          ],
          leadsTo: { uid: "gpulse-host", labels: ["host"] },
          width: 24,
        },
      ],
    },
    {
      title: "GPUs by use",
      panels: [
        metricPanel(gpu.utilization, {
          title: "GPU utilisation per device",
          todo: "The 40 busiest. Many idle ones beside a queue: look at the ML workload dashboard.",
          kind: "bargauge",
          targets: [ask(`topk(40, gpu_utilization_ratio${at} ${ofModel})`, gpuName)],
          steps: falling(0.1, 0.4),
          leadsTo: toGpu,
          width: 12,
          height: 12,
        }),
        metricPanel(gpu.utilization, {
          title: "Least used GPUs",
          todo: "Mean of the last ten minutes, the twenty lowest: what new work could have.",
          kind: "table",
          targets: [
            ask(
              `bottomk(20, avg_over_time(gpu_utilization_ratio${at}[10m]) ${ofModel})`,
              "utilisation",
            ),
          ],
          leadsTo: toGpu,
          width: 12,
          height: 12,
        }),
        metricPanel(gpu.utilization, {
          title: "GPU utilisation by host",
          kind: "timeseries",
          targets: [ask(`topk(20, host:gpu_utilization_ratio:avg${at})`, "{{host}}")],
          width: 12,
        }),
        metricPanel(gpu.memoryUsed, {
          title: "GPU memory used by host",
          kind: "timeseries",
          targets: [ask(`topk(20, host:gpu_memory_used_bytes:sum${at})`, "{{host}}")],
          range: [0, undefined],
          width: 12,
        }),
      ],
    },
    {
      title: "Heat and power",
      panels: [
        metricPanel(gpu.temperature, {
          title: "GPU temperature by host, hottest GPU",
          todo: "Limits differ by model: the table beside reports who is near its own.",
          kind: "timeseries",
          targets: [ask(`topk(20, host:gpu_temperature_celsius:max${at})`, "{{host}}")],
          width: 12,
        }),
        metricPanel(gpu.power, {
          title: "GPU power by host",
          kind: "timeseries",
          targets: [ask(`topk(20, host:gpu_power_watts:sum${at})`, "{{host}}")],
          range: [0, undefined],
          width: 12,
        }),
        metricPanel(gpu.temperature, {
          title: "Hottest GPUs",
          kind: "bargauge",
          targets: [ask(`topk(10, gpu_temperature_celsius${edges})`, `${gpuName} {{sensor}}`)],
          leadsTo: toGpu,
          width: 8,
        }),
        metricPanel(gpu.temperatureMargin, {
          title: "Nearest to slowing down",
          todo: "Below 5 °C: more air, cleaner filters, or a lower power limit.",
          kind: "bargauge",
          targets: [ask(`bottomk(10, gpu_temperature_margin_celsius${at})`, gpuName)],
          steps: falling(5, 15),
          leadsTo: toGpu,
          width: 8,
        }),
        metricPanel(gpu.throttleActive, {
          title: "GPUs held back, by reason",
          todo: "Heat is to be fixed; a power cap is a choice.",
          kind: "bargauge",
          targets: [ask(`sum by (reason) (gpu_throttle_active${at})`, "{{reason}}")],
          steps: rising(1, 10),
          width: 8,
        }),
      ],
    },
    {
      title: "Health",
      panels: [
        metricPanel(gpu.eccErrors, {
          title: "GPU error rate",
          todo: "The ten GPUs with most. Growing: plan for the board to be replaced; uncorrected: drain it now.",
          kind: "timeseries",
          rate: true,
          targets: [
            ask(
              `topk(10, sum by (host, gpu, type) (rate(gpu_ecc_errors_total${at}[${window}])))`,
              `${gpuName} {{type}}`,
            ),
          ],
          range: [0, undefined],
          width: 12,
        }),
        metricPanel(gpu.anomalyActive, {
          title: "Count of anomalies",
          kind: "timeseries",
          targets: [
            ask(
              `count(gpu_anomaly_active${at} == 1) or 0 * count(gpulse_store_series)`,
              "anomalies",
            ),
          ],
          range: [0, undefined],
          needs: "a hub that is asked or scraped: it finds them",
          width: 12,
        }),
      ],
    },
  ],
};
