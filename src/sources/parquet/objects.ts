/** Everything under a path of a bucket or of HDFS that contains frames: the lake first, then each other file by its type. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { defined } from "../../base/defined.ts";
import { GpulseError } from "../../base/error.ts";
import { addressOf, openFiles } from "../../net/objects/open.ts";
import type { FileInfo, FileStore } from "../../net/objects/store.ts";
import { parsePath } from "../../lake/names.ts";
import type { Device } from "../../model/device.ts";
import type { Emit, SourceContext, StreamingSource } from "../source.ts";
import { type LakeReadOptions, LakeSource } from "./source.ts";

export interface ObjectOptions extends LakeReadOptions {
  readonly "gpu-name"?: string | undefined;
  readonly vendor?: string | undefined;
  readonly uuid?: string | undefined;
  readonly timezone?: string | undefined;
}

export async function openObjects(
  scheme: "s3" | "webhdfs",
  place: string | undefined,
  where: Readonly<Record<string, string | undefined>>,
  options: ObjectOptions,
  context: SourceContext,
): Promise<StreamingSource> {
  if (place === undefined)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `${scheme}: needs a place: write ${scheme}://${scheme === "s3" ? "BUCKET/PREFIX" : "HOST:PORT/PATH"}.`,
    );
  const files = await openFiles(addressOf(scheme, place, where), process.env);
  return new ObjectSource(files, options, context);
}

export class ObjectSource implements StreamingSource {
  readonly shape = "streaming";
  readonly #files: FileStore;
  readonly #options: ObjectOptions;
  readonly #context: SourceContext;
  readonly #devices = new Map<string, Device>();

  constructor(files: FileStore, options: ObjectOptions, context: SourceContext) {
    this.#files = files;
    this.#options = options;
    this.#context = context;
  }

  devices(): readonly Device[] {
    return [...this.#devices.values()];
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    const all = await this.#files.list("", signal);
    const others = all.filter(
      (file) => parsePath(file.path) === undefined && !/(^|\/)[_.]/.test(file.path),
    );
    const taken: Emit = (frame, about) => {
      for (const device of about?.devices ?? []) this.#devices.set(device.uuid, device);
      return emit(frame, about);
    };
    if (all.some((file) => parsePath(file.path) !== undefined))
      await this.#lake(undefined).run(taken, signal);
    for (const file of others) {
      if (signal.aborted) return;
      if (file.path.endsWith(".parquet")) await this.#lake(file).run(taken, signal);
      else if (/\.(txt|log|csv)$/i.test(file.path)) await this.#text(file, taken, signal);
      else this.#context.log.info("object skipped: neither Parquet nor a log", { file: file.path });
    }
    if (all.length === 0)
      throw new GpulseError("FILE_UNREADABLE", `There is nothing at ${this.#files.name}.`);
  }

  close(): void {
    this.#files.close();
  }

  #lake(single: FileInfo | undefined): LakeSource {
    return new LakeSource(this.#files, single, this.#options);
  }

  /** A log is read by its own source, which needs a local file. */
  async #text({ path: name }: FileInfo, emit: Emit, signal: AbortSignal): Promise<void> {
    const bytes = Buffer.from(await this.#files.read(name, undefined, signal));
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-object-"));
    try {
      const file = path.join(folder, path.posix.basename(name));
      await writeFile(file, bytes);
      const { parseSource } = await import("../open.ts");
      const isGpuz = /^(?:\u00ef\u00bb\u00bf)?\s*Date\b/.test(bytes.toString("latin1", 0, 64));
      const { "gpu-name": gpuName, vendor, uuid, timezone } = this.#options;
      const given = defined({ "gpu-name": gpuName, vendor, uuid, timezone });
      const { definition, options } = parseSource(
        isGpuz ? { gpuz: { file, ...given } } : { csv: { file } },
      );
      const source = await definition.create(options, this.#context);
      if (source.shape !== "streaming") throw new Error("BUG: a log is read as a stream");
      try {
        await source.run(
          (frame, about) => emit(frame, { devices: source.devices(), ...about }),
          signal,
        );
      } finally {
        await source.close();
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
