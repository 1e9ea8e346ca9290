/**
 * Pod and container names from the kubelet's log folder, whose file names contain them: `POD_NAMESPACE_CONTAINER-ID.log`. The
 * cgroup has only ids and the device list only names; the log folder maps one to the other.
 */
import type { FileAccess } from "../../sysfs/file-access.ts";
import { listDir } from "../../sysfs/read.ts";
import { type Attribution, known, unknown } from "../attribution.ts";

export const containerLogFolder = "/var/log/containers";

export interface PodName {
  readonly pod: string;
  readonly namespace: string;
  readonly container: string;
}

/** Names and namespaces contain no underscore, so the two underscores are the separators. */
const fileName = /^([a-z0-9.-]{1,253})_([a-z0-9-]{1,63})_([a-z0-9-]{1,63})-([0-9a-f]{64})\.log$/;

export function parseLogNames(files: readonly string[]): ReadonlyMap<string, PodName> {
  const names = new Map<string, PodName>();
  for (const file of files) {
    const [, pod, namespace, container, id] = fileName.exec(file) ?? [];
    if (pod !== undefined && namespace !== undefined && container !== undefined && id !== undefined)
      names.set(id, { pod, namespace, container });
  }
  return names;
}

export class PodNames {
  readonly #folder: string;
  readonly #nowMs: () => number;
  readonly #fileAccess: FileAccess | undefined;
  #names: Attribution<ReadonlyMap<string, PodName>> = unknown("unavailable");
  #readMs: number | undefined;

  constructor(folder: string, nowMs: () => number, fileAccess?: FileAccess) {
    this.#folder = folder;
    this.#nowMs = nowMs;
    this.#fileAccess = fileAccess;
  }

  /** The names of a container. For an unknown, recently started container the folder is read again, once a second at most. */
  async of(containerId: string): Promise<Attribution<PodName>> {
    if (this.#ageMs() > 10_000 || (!this.#has(containerId) && this.#ageMs() > 1_000))
      await this.#read();
    if (!this.#names.known) return this.#names;
    const found = this.#names.value.get(containerId);
    return found === undefined ? unknown("none") : known(found);
  }

  #has(containerId: string): boolean {
    return this.#names.known && this.#names.value.has(containerId);
  }

  #ageMs(): number {
    return this.#readMs === undefined ? Infinity : this.#nowMs() - this.#readMs;
  }

  async #read(): Promise<void> {
    this.#readMs = this.#nowMs();
    const files = await listDir(this.#folder, this.#fileAccess);
    this.#names = files.ok
      ? known(parseLogNames(files.value))
      : unknown(
          files.reason === "unsupported"
            ? "unavailable"
            : files.reason === "denied"
              ? "denied"
              : "failed",
        );
  }
}
