/** Everything that one GPU, or a few selected ones, report: most important first. */
import { gpu } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import { type Board, falling, rising, up, yesNo } from "../shape.ts";
import { ask, gpuName, gpus, hosts, limit, needsWork, perWatt, some, window } from "./ask.ts";

const one = 'host=~"$host",gpu=~"$gpu"';
const at = `{${one}}`;

export const gpuDetail: Board = {
  uid: "gpulse-gpu",
  title: "gpulse: GPU detail",
  about: "One GPU, or some of them: now, over time, and what went wrong.",
  tags: ["gpu"],
  source: "prometheus",
  variables: [some(hosts), gpus],
  rows: [
    {
      title: "Now",
      panels: [
        metricPanel(gpu.info, {
          title: "Identity",
          todo: "Where simulated is true the numbers come from a model, not from hardware.",
          kind: "table",
          targets: [ask(`gpu_info${at}`, "present")],
          width: 24,
          height: 5,
        }),
        metricPanel(gpu.up, {
          title: "GPU health",
          todo: "Down: look for an XID error below and in the kernel's log.",
          kind: "stat",
          targets: [ask(`gpu_up${at}`, gpuName)],
          words: up,
          width: 6,
          height: 6,
        }),
        metricPanel(gpu.utilization, {
          kind: "gauge",
          targets: [ask(`gpu_utilization_ratio${at}`, gpuName)],
          steps: falling(0.1, 0.4),
          width: 6,
          height: 6,
        }),
        metricPanel(gpu.temperatureMargin, {
          kind: "gauge",
          todo: "Below 5 °C: more air or a lower power limit.",
          targets: [ask(`gpu_temperature_margin_celsius${at}`, gpuName)],
          steps: falling(5, 15),
          range: [0, 80],
          width: 6,
          height: 6,
        }),
        metricPanel(gpu.memoryUsedRatio, {
          kind: "gauge",
          targets: [ask(`gpu_memory_used_ratio${at}`, gpuName)],
          steps: rising(0.9, 0.97),
          width: 6,
          height: 6,
        }),
      ],
    },
    {
      title: "Over time",
      panels: [
        metricPanel(gpu.utilization, {
          title: "GPU utilisation per device",
          kind: "timeseries",
          targets: [ask(`gpu_utilization_ratio${at}`, gpuName)],
          width: 12,
        }),
        metricPanel(gpu.temperature, {
          todo: "Dashed is the device's own limit, where it slows down.",
          kind: "timeseries",
          targets: [
            ask(`gpu_temperature_celsius${at}`, `${gpuName} {{sensor}}`),
            limit(
              `max by (host, limit) (gpu_temperature_limit_celsius{${one},limit="slowdown"})`,
              "{{host}} {{limit}}",
            ),
          ],
          width: 12,
        }),
        metricPanel(gpu.power, {
          todo: "Dashed is the limit the board is held to: at the limit, clocks give way.",
          kind: "timeseries",
          targets: [
            ask(`gpu_power_watts${at}`, gpuName),
            limit(`max by (host) (gpu_power_limit_watts${at})`, "{{host}} limit"),
          ],
          range: [0, undefined],
          width: 12,
        }),
        metricPanel(gpu.memoryUsed, {
          title: "GPU memory used and free",
          kind: "timeseries",
          targets: [
            ask(`gpu_memory_used_bytes${at}`, `${gpuName} used`),
            ask(`gpu_memory_free_bytes${at}`, `${gpuName} free`),
          ],
          range: [0, undefined],
          width: 12,
        }),
        metricPanel(gpu.clock, {
          title: "GPU clocks",
          todo: "Low under load: see what holds it back.",
          kind: "timeseries",
          targets: [ask(`gpu_clock_hertz${at}`, `${gpuName} {{domain}}`)],
          range: [0, undefined],
          width: 12,
        }),
        metricPanel(gpu.work, {
          title: "Performance per watt",
          todo: "Work per second over watts: higher is better. For work of your own use gpulse compare with --work-query.",
          kind: "timeseries",
          targets: [ask(perWatt(one), gpuName)],
          range: [0, undefined],
          decimals: 3,
          needs: needsWork,
          width: 12,
        }),
        metricPanel(gpu.smActivity, {
          title: "Activity of the units",
          todo: "Busy with low activity is work that does not fill the GPU: larger batches, or share it.",
          kind: "timeseries",
          targets: [
            ask(`gpu_sm_activity_ratio${at}`, `${gpuName} SM`),
            ask(`gpu_tensor_activity_ratio${at}`, `${gpuName} tensor`),
            ask(`gpu_dram_activity_ratio${at}`, `${gpuName} DRAM`),
          ],
          needs: "a datacentre NVIDIA GPU, Hopper or newer",
          width: 24,
        }),
      ],
    },
    {
      title: "Held back",
      panels: [
        metricPanel(gpu.throttleActive, {
          title: "Thermal throttling",
          todo: "It slows itself to stay alive: check fans, filters, paste and the room.",
          kind: "state-timeline",
          targets: [
            ask(
              `max by (host, gpu) (gpu_throttle_active{${one},reason=~"thermal|thermal_hardware"})`,
              gpuName,
            ),
          ],
          words: yesNo,
          width: 12,
        }),
        metricPanel(gpu.throttleSeconds, {
          title: "Share of time held back, by reason",
          kind: "timeseries",
          rate: true,
          targets: [
            ask(
              `sum by (host, gpu, reason) (rate(gpu_throttle_seconds_total${at}[${window}]))`,
              `${gpuName} {{reason}}`,
            ),
          ],
          range: [0, 1],
          width: 12,
        }),
      ],
    },
    {
      title: "Errors",
      panels: [
        metricPanel(gpu.eccErrors, {
          title: "GPU error rate",
          todo: "Corrected ones now and then are normal; growing or uncorrected ones are not.",
          kind: "timeseries",
          rate: true,
          targets: [
            ask(
              `sum by (host, gpu, type) (rate(gpu_ecc_errors_total${at}[${window}]))`,
              `${gpuName} {{type}}`,
            ),
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(gpu.xidErrors, {
          title: "XID errors",
          todo: "The runbook says what each number asks for.",
          kind: "table",
          targets: [
            ask(`gpu_xid_errors_total${at}`, "errors"),
            ask(`time() - gpu_xid_last_timestamp_seconds${at}`, "ago", "s"),
          ],
          needs: "an NVIDIA GPU that has had one",
          width: 8,
        }),
        metricPanel(gpu.pcieReplays, {
          kind: "timeseries",
          rate: true,
          targets: [ask(`rate(gpu_pcie_replays_total${at}[${window}])`, gpuName)],
          range: [0, undefined],
          width: 8,
        }),
      ],
    },
    {
      title: "Bus, fans and energy",
      panels: [
        metricPanel(gpu.pcieThroughput, {
          kind: "timeseries",
          targets: [ask(`gpu_pcie_throughput_bytes_per_second${at}`, `${gpuName} {{direction}}`)],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(gpu.pcieLinkWidth, {
          title: "PCIe link in use of its best",
          todo: "Below 1 under load: seat the card again, check riser and slot.",
          kind: "timeseries",
          targets: [
            ask(`gpu_pcie_link_width${at} / gpu_pcie_link_width_max${at}`, `${gpuName} lanes`),
            ask(
              `gpu_pcie_link_generation${at} / gpu_pcie_link_generation_max${at}`,
              `${gpuName} generation`,
            ),
          ],
          range: [0, 1],
          width: 8,
        }),
        metricPanel(gpu.fanSpeed, {
          kind: "timeseries",
          targets: [ask(`gpu_fan_speed_ratio${at}`, `${gpuName} fan {{fan}}`)],
          needs: "a card with fans of its own",
          width: 8,
        }),
        metricPanel(gpu.energyIntegrated, {
          title: "Energy in the chosen time",
          kind: "stat",
          targets: [ask(`increase(gpu_energy_integrated_joules_total${at}[$__range])`, gpuName)],
          width: 12,
        }),
        metricPanel(gpu.ownerInfo, {
          title: "Who uses it",
          kind: "table",
          targets: [ask(`gpu_owner_info${at}`, "present")],
          needs: "processes or pods on the GPU",
          width: 12,
        }),
      ],
    },
  ],
};
