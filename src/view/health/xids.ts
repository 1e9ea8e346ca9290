/**
 * NVIDIA's Xid errors as data, the only table of Xid numbers. `nvidiaAction` is the immediate action of NVIDIA's Xid catalogue;
 * state and action are gpulse's verdict on the GPU. docs/reference/xids.md is generated from it.
 */
import type { HealthAction, JudgedState } from "./verdict.ts";

export interface XidEntry {
  /** Numbers with the same meaning for different engines share an entry. */
  readonly xids: readonly number[];
  readonly name: string;
  readonly meaning: string;
  /** NVIDIA's resolution bucket; absent if the catalogue has none. */
  readonly nvidiaAction?: string;
  /** `healthy`: an application error, or information. */
  readonly state: JudgedState;
  readonly action: HealthAction;
  readonly source: keyof typeof xidSources;
  /** An application error while one application has it; a fault of the GPU once several have. */
  readonly followsApplication?: true;
  /** A later occurrence of this number ends the problem. */
  readonly endedBy?: number;
  /** Not a reason if another Xid is in the same burst. */
  readonly isFollowUp?: true;
}

export const xidSources = {
  catalogue: {
    title: "NVIDIA Xid catalogue, Ampere and newer",
    url: "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
  },
  errors: {
    title: "NVIDIA Xid errors, driver documentation",
    url: "https://docs.nvidia.com/deploy/xid-errors/index.html",
  },
  memory: {
    title: "NVIDIA GPU memory error management",
    url: "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",
  },
} as const;

type Row = Omit<XidEntry, "xids" | "nvidiaAction" | "state" | "action" | "source">;

const row =
  (state: JudgedState, action: HealthAction) =>
  (
    xids: readonly number[],
    name: string,
    meaning: string,
    nvidiaAction: string | undefined,
    source: XidEntry["source"] = "catalogue",
    more: Partial<Row> = {},
  ): XidEntry => ({
    xids,
    name,
    meaning,
    state,
    action,
    source,
    ...(nvidiaAction === undefined ? {} : { nvidiaAction }),
    ...more,
  });

const application = row("healthy", "restart_app");
const information = row("healthy", "none");
const watch = row("degraded", "inspect");
const pendingReset = row("degraded", "reset_gpu");
const reset = row("failing", "reset_gpu");
const reboot = row("failing", "reboot");
const replace = row("failing", "drain");

export const xidEntries: readonly XidEntry[] = [
  // Numbers of GPUs before Ampere, which the catalogue of newer ones lists as unused.
  application(
    [1, 2, 3, 4, 6, 7, 20, 21, 22],
    "Bad push buffer",
    "The command stream of a program was invalid or corrupted (GPUs before Ampere).",
    undefined,
    "errors",
  ),
  application(
    [24, 30],
    "GPU semaphore error",
    "A program waited too long for a semaphore, or had no access to it (GPUs before Ampere).",
    undefined,
    "errors",
  ),
  application(
    [27, 28, 29, 34, 35, 36, 42, 47, 65, 73],
    "Video processor exception",
    "A video engine rejected a program's work (GPUs before Ampere).",
    undefined,
    "errors",
  ),
  watch(
    [9, 12],
    "Driver error",
    "The driver programmed the GPU wrongly, or failed to handle an exception (GPUs before Ampere).",
    undefined,
    "errors",
  ),
  watch(
    [16, 19, 81],
    "Display engine error",
    "The display or VGA unit hung or reported an error (GPUs before Ampere).",
    undefined,
    "errors",
  ),
  watch(
    [18],
    "Bus mastering disabled",
    "The GPU may not access the machine's memory: its PCI configuration was changed.",
    undefined,
    "errors",
  ),
  watch(
    [26, 33],
    "Framebuffer timeout or micro-controller error",
    "Device memory or an internal controller did not answer (GPUs before Ampere).",
    undefined,
    "errors",
  ),
  application(
    [8],
    "GPU stopped processing",
    "Work in a channel made no progress in time.",
    "RESTART_APP",
  ),
  application(
    [11, 25, 32],
    "Bad push buffer",
    "The command stream of a program was invalid or corrupted.",
    "RESTART_APP",
  ),
  application(
    [13],
    "Graphics engine exception",
    "A kernel failed on the shader engine, mostly by an illegal address or instruction of the program.",
    "RESTART_APP",
    "catalogue",
    { followsApplication: true },
  ),
  information(
    [14, 106, 107],
    "Test message",
    "Written by a test of the driver or of the management bus.",
    "IGNORE",
  ),
  application(
    [31],
    "GPU memory page fault",
    "A program accessed an address that is not mapped.",
    "RESTART_APP",
    "catalogue",
    { followsApplication: true },
  ),
  information(
    [37, 38, 66, 67],
    "Driver firmware message",
    "A context-switch firmware call was refused or slow; work continues.",
    "IGNORE",
  ),
  application(
    [39, 40, 41, 70, 71, 72, 75, 76, 77, 85, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135],
    "Copy engine exception",
    "A copy between memories failed.",
    "RESTART_APP",
  ),
  application(
    [43],
    "Program stopped on the GPU",
    "The driver ended the channel of a program after an error of that program.",
    "IGNORE",
  ),
  information(
    [44],
    "Fault during context switch",
    "An engine reported a fault while it changed programs.",
    "IGNORE",
  ),
  application(
    [45],
    "Preemptive cleanup",
    "The driver removed a program's channels: it was killed, or another error made it necessary.",
    "WORKFLOW_XID_45",
    "catalogue",
    { isFollowUp: true },
  ),
  reset(
    [46],
    "GPU stopped processing",
    "An engine did not stop when the driver asked it to.",
    "RESET_GPU",
  ),
  reset(
    [48],
    "Double-bit ECC error",
    "Memory returned data that ECC could not correct.",
    "WORKFLOW_XID_48",
  ),
  reset(
    [51],
    "Scheduler fault",
    "The hardware scheduler reported a bad group of channels; drivers then refuse new work.",
    undefined,
    "errors",
  ),
  replace(
    [54],
    "Auxiliary power not connected",
    "The board's power connector is missing or loose.",
    "CHECK_MECHANICALS",
  ),
  watch(
    [56, 57, 58, 59],
    "Display, memory link or power controller error",
    "An internal unit of older GPUs reported an error.",
    undefined,
    "errors",
  ),
  application(
    [60],
    "Video processor exception",
    "A security or video engine rejected a program's work.",
    "RESTART_APP",
  ),
  reset(
    [61, 62],
    "Internal micro-controller halt",
    "The GPU's power management controller stopped.",
    "RESET_GPU",
  ),
  pendingReset(
    [63],
    "Memory row marked for remapping",
    "A bad row, or page, of memory is replaced at the next reset.",
    "IGNORE",
    "memory",
  ),
  replace(
    [64],
    "Memory remapping failed",
    "A bad row, or page, could not be recorded for replacement.",
    "RESET_GPU",
    "memory",
  ),
  application(
    [68, 83, 84, 88, 89, 96, 97, 98],
    "Video decoder exception",
    "A video decoder rejected a program's work.",
    "RESTART_APP",
  ),
  application(
    [69],
    "Graphics engine class error",
    "A program used the shader engine in a way it does not support.",
    "RESTART_APP",
  ),
  reset(
    [74],
    "NVLink error",
    "A link to another GPU or switch had a fatal error.",
    "WORKFLOW_NVLINK_ERR",
  ),
  watch(
    [78],
    "vGPU start error",
    "A virtual GPU could not be started: host and guest software do not match.",
    "UPDATE_SWFW",
  ),
  reboot([79], "GPU has fallen off the bus", "The GPU no longer answers on PCIe.", "RESTART_BM"),
  application(
    [80],
    "Corrupted data sent to the GPU",
    "The checksum of a command stream was wrong.",
    "RESTART_APP",
  ),
  application(
    [82, 99, 100, 101, 102, 103, 104, 105],
    "JPEG engine exception",
    "A JPEG engine rejected a program's work.",
    "RESTART_APP",
  ),
  application(
    [86, 139],
    "Optical flow engine exception",
    "An optical flow engine rejected a program's work.",
    "RESTART_APP",
  ),
  watch(
    [92],
    "High single-bit ECC error rate",
    "Memory needs many corrections; no data is lost yet.",
    "IGNORE",
  ),
  watch(
    [93],
    "InfoROM wear",
    "The board's configuration memory was written more often than planned.",
    "IGNORE",
  ),
  row("degraded", "restart_app")(
    [94],
    "Contained memory error",
    "An uncorrectable memory error ended one program; the others were not affected.",
    "RESTART_APP",
    "memory",
  ),
  reset(
    [95],
    "Uncontained memory error",
    "An uncorrectable memory error may have affected every program on the GPU.",
    "RESET_GPU",
    "memory",
  ),
  information(
    [108, 137],
    "NVLink privilege error",
    "A program accessed a peer's memory without the right to; follows an error elsewhere.",
    "IGNORE",
  ),
  reset([109], "Context switch timeout", "The GPU could not change programs in time.", "RESET_GPU"),
  reset([110], "Security fault", "A firmware security check failed.", "RESET_GPU"),
  reset(
    [119, 120],
    "GSP firmware error",
    "The GPU's system processor does not answer the driver, or crashed.",
    "RESET_GPU",
  ),
  watch([121], "C2C link error", "The link between GPU and CPU corrected an error.", "IGNORE"),
  watch(
    [122, 123, 124, 125],
    "InfoROM access failed",
    "The board's configuration memory could not be read or written.",
    undefined,
    "errors",
  ),
  reset([136], "Link training failed", "An NVLink did not come up.", "RESET_GPU"),
  reset([140], "Unrecovered ECC error", "An ECC error was not recovered from.", "RESET_GPU"),
  information([141], "CUDA fast path error", "A fast path of the driver was not used.", "IGNORE"),
  watch([142], "Video encoder error", "A video encoder reported an error.", "CONTACT_SUPPORT"),
  reset([143], "GPU initialization error", "The GPU could not be started.", "RESET_GPU"),
  reset(
    [144, 145, 146, 147, 148, 149, 150],
    "NVLink 5 unit error",
    "A unit of an NVLink reported an error.",
    "WORKFLOW_NVLINK5_ERR",
  ),
  reboot(
    [151],
    "Key rotation error",
    "Keys of confidential computing could not be changed.",
    "RESTART_VM",
  ),
  information(
    [152, 153],
    "Deep learning accelerator error",
    "The accelerator of an embedded GPU reported an error.",
    "IGNORE",
  ),
  information(
    [154],
    "Recovery action changed",
    "The driver recommends another recovery action; the text of the line names it.",
    "XID_154",
    "catalogue",
    { isFollowUp: true },
  ),
  reset([155], "NVLink software error", "A link was shut down by software.", "RESET_GPU"),
  pendingReset(
    [156],
    "Resource retired",
    "A faulty unit is switched off at the next reset.",
    "RESET_GPU",
  ),
  replace(
    [157],
    "Resource retirement failed",
    "A faulty unit could not be switched off.",
    "IGNORE",
  ),
  reset([158], "GPU fatal timeout", "The GPU did not answer in time.", "RESET_GPU"),
  watch(
    [159],
    "CHI error",
    "The coherent link between GPU and CPU reported an error.",
    "CHECK_UVM",
  ),
  watch(
    [160],
    "Memory channel retired",
    "A memory channel is taken out of use: capacity or bandwidth falls.",
    "IGNORE",
  ),
  replace(
    [161],
    "Memory channel retirement failed",
    "A bad memory channel could not be taken out of use.",
    "IGNORE",
  ),
  information(
    [162],
    "Power smoothing engaged again",
    "The power smoothing circuit works again.",
    undefined,
  ),
  watch(
    [163],
    "Power smoothing disengaged",
    "The power smoothing circuit was switched off.",
    undefined,
    "catalogue",
    { endedBy: 162 },
  ),
  watch(
    [164],
    "Power smoothing near its end of life",
    "The power smoothing circuit has little life left.",
    undefined,
  ),
  watch(
    [165],
    "Power smoothing worn out",
    "The power smoothing circuit has reached its end of life.",
    undefined,
  ),
  reset([166, 170], "NVLink security error", "Encrypted traffic on a link was wrong.", undefined),
  reboot([167], "PCIe fatal timeout", "A PCIe transaction did not complete.", undefined),
  watch(
    [168],
    "Reduced memory capacity",
    "Errors were found in a protected region, which is no longer used.",
    undefined,
  ),
  reset([169], "Security controller halt", "The GPU's security controller stopped.", undefined),
  reset(
    [171],
    "Uncorrectable DRAM error",
    "Details of Xid 48: the error is in device memory.",
    undefined,
  ),
  reset(
    [172],
    "Uncorrectable SRAM error",
    "Details of Xid 48: the error is in on-chip memory.",
    undefined,
  ),
];

const byNumber = new Map(xidEntries.flatMap((entry) => entry.xids.map((xid) => [xid, entry])));

export const findXid = (xid: number): XidEntry | undefined => byNumber.get(xid);

/** `Xid 79 (GPU has fallen off the bus)`, or the number alone if the catalogue lacks it. */
export function formatXid(xid: number): string {
  const entry = findXid(xid);
  return entry === undefined ? `Xid ${xid}` : `Xid ${xid} (${entry.name})`;
}
