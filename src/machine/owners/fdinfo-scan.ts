/**
 * Finds the processes that have a GPU open, by their fdinfo. Reading every file of every process is expensive, so a process
 * without a graphics file is skipped for a while. Only processes this user may inspect are included; the others are counted.
 */
import type { FileAccess } from "../sysfs/file-access.ts";
import { listDir, readLink, readText } from "../sysfs/read.ts";
import { type DrmClient, parseFdinfo } from "./fdinfo.ts";

export interface DrmProcess {
  readonly pid: number;
  readonly name: string;
  readonly clients: readonly DrmClient[];
}

export interface DrmScanResult {
  readonly processes: readonly DrmProcess[];
  /** Number of processes that could not be inspected; if not 0, the list may be incomplete. */
  readonly denied: number;
}

/** A process without a graphics file is inspected again after this time; a new process at once. */
const leaveAloneMs = 30_000;
const mostFilesOfProcess = 4_096;
const atOnce = 32;
/** Limit of processes re-read by `revisit`; further ones are updated only by the scan. */
const mostRevisited = 64;

export class DrmScan {
  readonly #procfs: string;
  readonly #fileAccess: FileAccess;
  readonly #plainUntilMs = new Map<number, number>();
  #known: readonly { readonly pid: number; readonly files: readonly string[] }[] = [];
  #denied: number | undefined;

  constructor(procfs: string, fileAccess: FileAccess) {
    this.#procfs = procfs;
    this.#fileAccess = fileAccess;
  }

  async scan(timeMs: number): Promise<DrmScanResult> {
    const entries = await listDir(this.#procfs, this.#fileAccess);
    if (!entries.ok) return { processes: [], denied: 1 };
    const pids = entries.value.filter((name) => /^\d{1,10}$/.test(name)).map(Number);
    this.#forget(new Set(pids));
    const seen = new Set<string>();
    const processes: DrmProcess[] = [];
    const known: { pid: number; files: readonly string[] }[] = [];
    let denied = 0;
    for (const pid of pids.toSorted((a, b) => a - b)) {
      if (timeMs < (this.#plainUntilMs.get(pid) ?? Number.NEGATIVE_INFINITY)) continue;
      const files = await this.#graphicsFiles(pid);
      if (files === "denied") denied++;
      else if (files.length === 0) this.#plainUntilMs.set(pid, timeMs + leaveAloneMs);
      else {
        known.push({ pid, files });
        processes.push(await this.#process(pid, files, seen));
      }
    }
    this.#known = known;
    this.#denied = denied;
    return { processes: processes.filter(({ clients }) => clients.length > 0), denied };
  }

  /** Re-reads the files that the last scan found, which is cheap enough for a fast tier. Undefined before the first scan. */
  async revisit(): Promise<DrmScanResult | undefined> {
    const denied = this.#denied;
    if (denied === undefined) return undefined;
    const seen = new Set<string>();
    const processes: DrmProcess[] = [];
    for (const { pid, files } of this.#known.slice(0, mostRevisited)) {
      processes.push(await this.#process(pid, files, seen));
    }
    return { processes: processes.filter(({ clients }) => clients.length > 0), denied };
  }

  #forget(alive: ReadonlySet<number>): void {
    for (const pid of this.#plainUntilMs.keys()) {
      if (!alive.has(pid)) this.#plainUntilMs.delete(pid);
    }
  }

  async #graphicsFiles(pid: number): Promise<readonly string[] | "denied"> {
    const folder = `${this.#procfs}/${pid}/fd`;
    const names = await listDir(folder, this.#fileAccess);
    if (!names.ok) return names.reason === "denied" ? "denied" : [];
    const found: string[] = [];
    const some = names.value.slice(0, mostFilesOfProcess);
    for (let start = 0; start < some.length; start += atOnce) {
      await Promise.all(
        some.slice(start, start + atOnce).map(async (name) => {
          const link = await readLink(`${folder}/${name}`, this.#fileAccess);
          if (link.ok && link.value.startsWith("/dev/dri/")) found.push(name);
        }),
      );
    }
    return found.toSorted((a, b) => Number(a) - Number(b));
  }

  /** A file may be open several times and in several processes; it counts for the first one. */
  async #process(pid: number, files: readonly string[], seen: Set<string>): Promise<DrmProcess> {
    const clients: DrmClient[] = [];
    for (const file of files) {
      const text = await readText(
        `${this.#procfs}/${pid}/fdinfo/${file}`,
        16_384,
        this.#fileAccess,
      );
      const client = text.ok ? parseFdinfo(text.value) : undefined;
      if (client === undefined) continue;
      const key = `${client.pciBusId} ${client.clientId}`;
      if (seen.has(key)) continue;
      seen.add(key);
      clients.push(client);
    }
    const name = await readText(`${this.#procfs}/${pid}/comm`, 64, this.#fileAccess);
    return { pid, name: name.ok ? name.value.replace(/\p{Cc}/gu, "?") : "", clients };
  }
}
