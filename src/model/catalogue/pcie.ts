/** The link between a GPU and its host. */
import { device, direction } from "./device.ts";

export const pcie = {
  pcieLinkGeneration: device("gpu_pcie_link_generation", {
    help: "PCIe generation in use; falls when idle on many cards.",
    tier: "slow",
    plausible: [1, 8],
    given: {
      nvidia: "nvmlDeviceGetCurrPcieLinkGeneration",
      amd: "current_link_speed",
      intel: "current_link_speed",
      sim: "fault pcie-downgrade",
    },
  }),
  pcieLinkGenerationMax: device("gpu_pcie_link_generation_max", {
    help: "Highest PCIe generation of card and slot together.",
    tier: "static",
    plausible: [1, 8],
    given: {
      nvidia: "nvmlDeviceGetMaxPcieLinkGeneration",
      amd: "max_link_speed",
      intel: "max_link_speed",
      sim: "the model's constants",
    },
  }),
  pcieLinkWidth: device("gpu_pcie_link_width", {
    help: "PCIe lanes in use.",
    tier: "slow",
    plausible: [1, 64],
    given: {
      nvidia: "nvmlDeviceGetCurrPcieLinkWidth",
      amd: "current_link_width",
      intel: "current_link_width",
      sim: "fault pcie-downgrade",
    },
  }),
  pcieLinkWidthMax: device("gpu_pcie_link_width_max", {
    help: "PCIe lanes of card and slot together.",
    tier: "static",
    plausible: [1, 64],
    given: {
      nvidia: "nvmlDeviceGetMaxPcieLinkWidth",
      amd: "max_link_width",
      intel: "max_link_width",
      sim: "the model's constants",
    },
  }),
  pcieThroughput: device("gpu_pcie_throughput_bytes_per_second", {
    help: "PCIe traffic by direction.",
    tier: "slow",
    labels: [direction],
    given: {
      nvidia: "NVML GPM, ids 20 and 21; else nvmlDeviceGetPcieThroughput, 21 ms a call",
      amd: "pcie_bw, a second a read, only with pcie=true",
      sim: "the job's traffic",
    },
  }),
  pcieReplays: device("gpu_pcie_replays_total", {
    help: "PCIe replays; a growing count points to a bad slot, riser or card.",
    tier: "slow",
    given: {
      nvidia: "nvmlDeviceGetPcieReplayCounter",
      amd: "pcie_replay_count",
      sim: "fault pcie-downgrade",
    },
  }),
  pcieLinkEvents: device("gpu_pcie_link_events_total", {
    help: "PCIe link events other than replays: retraining from L0, roll-overs of the replay number, and NAKs.",
    tier: "slow",
    labels: [
      {
        name: "event",
        help: "What happened.",
        values: ["recovery", "replay_rollover", "nak_sent", "nak_received"],
      },
    ],
    given: { amd: "gpu_metrics of MI300 and newer" },
  }),
} as const;
