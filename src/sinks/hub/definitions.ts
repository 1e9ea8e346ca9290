/**
 * The layouts and device lists that spooled frames reference, in memory and as files beside the spool, so that frames
 * can still be sent after a restart. A file is named after the hash of its content and never changes.
 */
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeFolderSync } from "../../base/make-folder.ts";
import { formatError } from "../../base/error.ts";
import {
  encodeDevices,
  decodeLayout,
  type Definition,
  encodeLayout,
} from "../../formats/frames/layout.ts";
import { hashOf } from "../../formats/frames/bytes.ts";
import type { Log } from "../../base/log.ts";
import { findMetric, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import type { Layout } from "../../model/layout.ts";

/** Entries of each kind in memory; the others are read back from disk on demand. */
const keptInMemory = 64;
/** Limits the disk space of layouts that keep changing through a long outage. */
const maxFiles = 2_048;

type Kind = "layout" | "devices";

export class DefinitionFolder {
  readonly #dir: string;
  readonly #log: Log;
  readonly #contents = new Map<string, Buffer>();
  readonly #resolutions = new Map<string, Float64Array>();
  readonly #layouts = new WeakMap<Layout, string>();
  readonly #devices = new WeakMap<readonly Device[], string>();
  readonly #metrics = new Map<string, MetricEntry>();
  readonly #files = new Set<string>();
  #isLogged = false;

  constructor(dir: string, log: Log) {
    this.#dir = dir;
    this.#log = log;
    makeFolderSync(dir);
    for (const file of readdirSync(dir)) {
      if (file.endsWith(".new")) rmSync(path.join(dir, file), { force: true });
      else this.#files.add(file);
    }
  }

  /** Returns the layout's hash. The file is written before this returns, unless the disk write fails. */
  layout(layout: Layout): string {
    const known = this.#layouts.get(layout);
    if (known !== undefined) return known;
    for (const { metric } of layout.series) this.#metrics.set(metric.name, metric);
    const hash = this.#keep("layout", encodeLayout(layout));
    this.#layouts.set(layout, hash);
    return hash;
  }

  devices(devices: readonly Device[]): string {
    const known = this.#devices.get(devices);
    if (known !== undefined) return known;
    const hash = this.#keep("devices", encodeDevices(devices));
    this.#devices.set(devices, hash);
    return hash;
  }

  /** Returns undefined if neither memory nor the disk has it any more. */
  content(kind: Kind, hash: string): Buffer | undefined {
    const name = `${kind}-${hash}`;
    const held = this.#contents.get(name) ?? this.#read(name, hash);
    if (held !== undefined) this.#hold(name, held);
    return held;
  }

  resolutions(hash: string): Float64Array | undefined {
    const known = this.#resolutions.get(hash);
    if (known !== undefined) return known;
    const content = this.content("layout", hash);
    if (content === undefined) return undefined;
    const { resolutions } = decodeLayout(content);
    this.#resolutions.set(hash, resolutions);
    bound(this.#resolutions);
    return resolutions;
  }

  /** Returns a metric's definition for a hub that requests it; a metric that is no longer known is a plain gauge. */
  metric(name: string): MetricEntry {
    return (
      this.#metrics.get(name) ??
      findMetric(name) ?? {
        name,
        kind: "gauge",
        unit: "none",
        help: "Not described.",
        subject: "self",
        tier: "fast",
        resolution: 1,
        plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
        labels: [],
        given: {},
      }
    );
  }

  /** Called when no frame is pending: removes the files of definitions that are no longer in use. */
  tidy(): void {
    if (this.#files.size <= keptInMemory) return;
    for (const name of this.#files) if (!this.#contents.has(name)) this.#remove(name);
  }

  #keep(kind: Kind, { hash, content }: Definition): string {
    const name = `${kind}-${hash}`;
    this.#hold(name, content);
    if (!this.#files.has(name)) this.#write(name, content);
    return hash;
  }

  #hold(name: string, content: Buffer): void {
    this.#contents.delete(name);
    this.#contents.set(name, content);
    bound(this.#contents);
  }

  #write(name: string, content: Buffer): void {
    for (const oldest of this.#files) {
      if (this.#files.size < maxFiles) break;
      this.#remove(oldest);
    }
    try {
      const file = path.join(this.#dir, name);
      writeFileSync(`${file}.new`, content);
      renameSync(`${file}.new`, file);
      this.#files.add(name);
      this.#isLogged = false;
    } catch (thrown) {
      if (!this.#isLogged)
        this.#log.warn("a layout cannot be written down: after a restart its frames are lost", {
          error: formatError(thrown),
        });
      this.#isLogged = true;
    }
  }

  #read(name: string, hash: string): Buffer | undefined {
    const file = path.join(this.#dir, name);
    if (!this.#files.has(name) || !existsSync(file)) return undefined;
    try {
      const content = readFileSync(file);
      if (hashOf(content) === hash) return content;
      this.#log.error("a layout's file is damaged: its frames are lost", { file });
    } catch (thrown) {
      this.#log.error("a layout's file cannot be read", { file, error: formatError(thrown) });
    }
    return undefined;
  }

  #remove(name: string): void {
    this.#files.delete(name);
    rmSync(path.join(this.#dir, name), { force: true });
  }
}

/** Evicts the least recently used entries. */
function bound(map: Map<string, unknown>): void {
  for (const oldest of map.keys()) {
    if (map.size <= keptInMemory * 2) return;
    map.delete(oldest);
  }
}
