/**
 * Parses `/proc/PID/fdinfo/N` of an open graphics file with its `drm-` lines (kernel 5.14 for amdgpu, 5.19 for i915). Pure. Unknown lines
 * are ignored; a file without a client id is not a graphics file.
 *
 *   drm-driver: amdgpu            drm-engine-gfx: 123 ns         drm-memory-vram: 512 KiB
 *   drm-client-id: 42             drm-cycles-rcs: 28257900       drm-total-vram0: 23992 KiB
 *   drm-pdev: 0000:03:00.0        drm-total-cycles-rcs: 7655…    drm-resident-vram0: 23992 KiB
 */
export interface DrmClient {
  readonly driver: string;
  /** In lower case; empty for a device without a PCI address. */
  readonly pciBusId: string;
  /** Equal for all duplicates of the file, in any process: count it once. */
  readonly clientId: string;
  /** Busy time since the file was opened, in nanoseconds, by engine. */
  readonly busyNs: ReadonlyMap<string, number>;
  /** Busy and elapsed cycles, for drivers that report those instead (xe). */
  readonly cycles: ReadonlyMap<string, { readonly busy: number; readonly total: number }>;
  /** Number of engines with the same name, if more than one. */
  readonly capacity: ReadonlyMap<string, number>;
  /** By region: vram, gtt, cpu (amdgpu); local0, system0 (i915); vram0, gtt, system (xe). */
  readonly memoryBytes: ReadonlyMap<string, number>;
}

/** Precedence of several lines about one region: resident memory before allocated memory. */
const memoryRank = ["total", "memory", "resident"] as const;

export function parseFdinfo(text: string): DrmClient | undefined {
  const facts = new Map<string, string>();
  for (const line of text.split("\n", 256)) {
    const match = /^drm-([\w-]{1,64}):\s*(.{1,128}?)\s*$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) facts.set(match[1], match[2]);
  }
  const clientId = facts.get("client-id");
  if (clientId === undefined || !/^\d{1,20}$/.test(clientId)) return undefined;
  const busyNs = new Map<string, number>();
  const capacity = new Map<string, number>();
  const busyCycles = new Map<string, number>();
  const totalCycles = new Map<string, number>();
  for (const [key, value] of facts) {
    take(capacity, /^engine-capacity-(.+)$/.exec(key), value, /^(\d{1,4})$/);
    if (!key.startsWith("engine-capacity-")) {
      take(busyNs, /^engine-(.+)$/.exec(key), value, /^(\d{1,20}) ns$/);
    }
    take(busyCycles, /^cycles-(.+)$/.exec(key), value, /^(\d{1,20})$/);
    take(totalCycles, /^total-cycles-(.+)$/.exec(key), value, /^(\d{1,20})$/);
  }
  const cycles = new Map<string, { busy: number; total: number }>();
  for (const [engine, busy] of busyCycles) {
    const total = totalCycles.get(engine);
    if (total !== undefined) cycles.set(engine, { busy, total });
  }
  return {
    driver: facts.get("driver") ?? "",
    pciBusId: (facts.get("pdev") ?? "").toLowerCase(),
    clientId,
    busyNs,
    cycles,
    capacity,
    memoryBytes: memoryOf(facts),
  };
}

function take(
  into: Map<string, number>,
  key: RegExpExecArray | null,
  value: string,
  pattern: RegExp,
): void {
  const name = key?.[1];
  const number = pattern.exec(value)?.[1];
  if (name !== undefined && number !== undefined) into.set(name, Number(number));
}

function memoryOf(facts: ReadonlyMap<string, string>): ReadonlyMap<string, number> {
  const memory = new Map<string, number>();
  for (const kind of memoryRank) {
    for (const [key, value] of facts) {
      if (!key.startsWith(`${kind}-`) || key.startsWith("total-cycles-")) continue;
      const bytes = parseSize(value);
      if (bytes !== undefined) memory.set(key.slice(kind.length + 1), bytes);
    }
  }
  return memory;
}

/** `512 KiB`, `3 MiB`, or bytes without a unit. */
function parseSize(text: string): number | undefined {
  const match = /^(\d{1,16})(?: (KiB|MiB))?$/.exec(text);
  if (match === null) return undefined;
  const unit = match[2] === "MiB" ? 1_048_576 : match[2] === "KiB" ? 1_024 : 1;
  return Number(match[1]) * unit;
}
