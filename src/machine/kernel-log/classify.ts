/**
 * Classifies kernel log lines: whether they are about a GPU, which driver wrote them, and which event they report. Pure; nothing
 * is inferred beyond the line.
 */
import type { Vendor } from "../../model/vendor.ts";
import type { KmsgRecord } from "./record.ts";

export type LineLevel = "critical" | "error" | "warn" | "info" | "debug";

export interface GpuLine {
  readonly vendor: Vendor;
  /** The driver's name in the kernel, `nvidia` for all of NVIDIA's modules. */
  readonly driver: string;
  readonly level: LineLevel;
  /** domain:bus:device.function in lower case, as in `gpu_info`. */
  readonly pciBusId?: string;
  /** Number of an NVIDIA Xid error. */
  readonly xid?: number;
  /** Number of an NVSwitch's SXid error. */
  readonly sxid?: number;
  /** The kind of fault, if known. */
  readonly event?: LineEvent;
  readonly text: string;
}

export type LineEvent = "xid" | "sxid" | "fell-off-bus" | "timeout" | "reset" | "ras" | "hang";

interface Driver {
  readonly vendor: Vendor;
  readonly name: string;
  readonly lines: RegExp;
}

/** `DRIVER 0000:03:00.0: …`, `DRIVER: …`, `[drm:function [DRIVER]] …` and `[drm] … DRIVER …` at the start of the line. */
const kernelDriver = (name: string): RegExp =>
  new RegExp(
    `^(?:${name}(?: [0-9a-f]|:)|\\[drm:[^\\]]*\\[${name}\\]\\]|\\[drm\\] (?:\\[)?${name}\\b)`,
  );

const drivers: readonly Driver[] = [
  {
    vendor: "nvidia",
    name: "nvidia",
    lines:
      /^(?:NVRM: |nvidia(?:-[a-z]+\d{0,3})?(?: [0-9a-f]|:)|\[drm(?:\]|:[^\]]*) ?\[nvidia[^\]]*\])/,
  },
  { vendor: "nvidia", name: "nouveau", lines: kernelDriver("nouveau") },
  {
    vendor: "amd",
    name: "amdgpu",
    lines: new RegExp(`${kernelDriver("amdgpu").source}|^kfd kfd: `),
  },
  { vendor: "amd", name: "radeon", lines: kernelDriver("radeon") },
  { vendor: "intel", name: "i915", lines: kernelDriver("i915") },
  { vendor: "intel", name: "xe", lines: kernelDriver("xe") },
];

/** Undefined if the line is not from a GPU's driver, or was written to the log by a program. */
export function classify({ facility, level, text }: KmsgRecord): GpuLine | undefined {
  if (facility !== 0) return undefined;
  const driver = drivers.find(({ lines }) => lines.test(text));
  if (driver === undefined) return undefined;
  const pciBusId = pciAddress(text);
  const xid = driver.name === "nvidia" ? errorNumber(xidLine, text) : undefined;
  const sxid = driver.name === "nvidia" ? errorNumber(sxidLine, text) : undefined;
  const event = xid !== undefined ? "xid" : sxid !== undefined ? "sxid" : eventOf(text);
  return {
    vendor: driver.vendor,
    driver: driver.name,
    level: levels[level] ?? "info",
    ...(pciBusId === undefined ? {} : { pciBusId }),
    ...(xid === undefined ? {} : { xid }),
    ...(sxid === undefined ? {} : { sxid }),
    ...(event === undefined ? {} : { event }),
    text,
  };
}

/** The level names that Grafana colours; emergency and alert count as critical. */
const levels: readonly LineLevel[] = [
  "critical",
  "critical",
  "critical",
  "error",
  "warn",
  "info",
  "info",
  "debug",
];

/** `NVRM: Xid (PCI:0000:18:00): 79, pid=…`; drivers before 2012 omit `PCI:`. */
const xidLine = /^NVRM: Xid \([^)]{1,40}\): (\d{1,6})\b/;
/** `nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, …` */
const sxidLine = /\bSXid \([^)]{1,40}\): (\d{1,6})\b/;

function errorNumber(pattern: RegExp, text: string): number | undefined {
  const number = pattern.exec(text)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** The first PCI address of the line. NVIDIA omits the function, and sometimes writes the domain with eight digits. */
function pciAddress(text: string): string | undefined {
  const match =
    /(?<![0-9a-f]|[0-9a-f]:)([0-9a-f]{4}|[0-9a-f]{8}):([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?(?![0-9a-f])/i.exec(
      text,
    );
  if (match === null) return undefined;
  const [, domain = "", bus = "", device = "", part = "0"] = match;
  const short = domain.length === 8 && domain.startsWith("0000") ? domain.slice(4) : domain;
  return `${short}:${bus}:${device}.${part}`.toLowerCase();
}

const events: readonly (readonly [LineEvent, RegExp])[] = [
  ["fell-off-bus", /fallen off the bus|device lost from bus/i],
  ["hang", /GPU HANG|\bGPU hung\b|engine .{0,40}\bhang\b/i],
  ["reset", /\b(?:GPU|engine|adapter|mode[12]|BACO) reset|\breset(?:ting)? (?:GPU|chip|engine)/i],
  ["timeout", /\bring \S+ timeout|\bjob timed? ?out|\btimedout job\b|_job_timedout/i],
  [
    "ras",
    /\bRAS\b|(?:un)?correctable hardware errors|\b(?:poison|ECC) |bad pages?\b|\bretired pages?\b/i,
  ],
];

const eventOf = (text: string): LineEvent | undefined =>
  events.find(([, pattern]) => pattern.test(text))?.[0];
