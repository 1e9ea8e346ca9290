/** What tells of a GPU that is wearing out or set up otherwise than one thinks. */
import { device, errorType, yesNo } from "./device.ts";
import type { LabelSpec } from "./entry.ts";

const cause: LabelSpec = {
  name: "cause",
  help: "The kind of error that led to it.",
  values: ["corrected", "uncorrected"],
};

export const health = {
  asleep: yesNo("gpu_asleep", {
    help: "1 while the driver has put the GPU to sleep; its other readings are then absent, since reading would wake it.",
    given: { amd: "power/runtime_status", intel: "power/runtime_status" },
  }),
  retiredPages: device("gpu_retired_pages", {
    help: "Memory pages taken out of use.",
    tier: "slow",
    labels: [cause],
    given: { nvidia: "nvmlDeviceGetRetiredPages, before Ampere", amd: "ras/gpu_vram_bad_pages" },
  }),
  retiredPagesPending: yesNo("gpu_retired_pages_pending", {
    help: "1 where pages will be taken out of use at the next reset.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetRetiredPagesPendingStatus" },
  }),
  remappedRows: device("gpu_remapped_rows", {
    help: "Memory rows replaced by spare ones.",
    tier: "slow",
    labels: [cause],
    given: { nvidia: "nvmlDeviceGetRemappedRows, Ampere and newer" },
  }),
  remappedRowsPending: yesNo("gpu_remapped_rows_pending", {
    help: "1 where rows will be replaced at the next reset.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetRemappedRows" },
  }),
  rowRemapFailed: yesNo("gpu_row_remap_failed", {
    help: "1 where a row could not be replaced: the board should be.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetRemappedRows" },
  }),
  blockErrors: device("gpu_block_errors_total", {
    help: "RAS errors since boot by hardware block; their sum may exceed gpu_ecc_errors_total, which is memory alone.",
    tier: "slow",
    labels: [{ name: "block", help: "Hardware block, such as umc, gfx or sdma." }, errorType],
    given: { amd: "ras/*_err_count" },
  }),
  eccEnabled: yesNo("gpu_ecc_enabled", {
    help: "1 where memory errors are corrected.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetEccMode" },
  }),
  persistenceEnabled: yesNo("gpu_persistence_enabled", {
    help: "1 where the driver stays loaded without clients.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetPersistenceMode" },
  }),
  migEnabled: yesNo("gpu_mig_enabled", {
    help: "1 where the GPU is split into instances.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetMigMode" },
  }),
} as const;
