/**
 * A run being recorded, in a folder: after a kill everything up to the last second is there. `trace.jsonl` has one line per
 * layout, `{"layout":0,"uuid":…,"columns":[…]}`, and one per row, `[layout, timeMs, value|null, …]`.
 */
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { folderError, makeFolderSync } from "../../base/make-folder.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import { checkRun } from "../file/schema.ts";
import type { Run, RunFile } from "../run.ts";
import { TraceBuilder } from "./trace-builder.ts";

export const partialExtension = ".partial";

export class PartialRun {
  readonly folder: string;
  readonly #trace: number;
  readonly #layouts = new Map<readonly string[], number>();
  #waiting = "";
  #closed = false;

  /** @throws GpulseError if the folder is not writable, before the command starts. */
  constructor(folder: string) {
    this.folder = folder;
    try {
      makeFolderSync(path.dirname(folder));
      mkdirSync(folder);
      this.#trace = openSync(path.join(folder, "trace.jsonl"), "a");
    } catch (thrown) {
      if (thrown instanceof GpulseError) throw thrown;
      if (systemCode(thrown) !== "EEXIST") throw folderError(folder, thrown);
      throw new GpulseError(
        "RUN_FAILED",
        `The folder ${folder} is there already: another run is writing it, or one was broken off (gpulse runs recover).`,
        { cause: thrown },
      );
    }
  }

  /** Writes the current facts of the run, so that an interrupted run can be read. */
  describe(run: Run): void {
    this.put("run.json", `${JSON.stringify(run)}\n`);
  }

  put(name: string, content: string): void {
    writeFileSync(path.join(this.folder, name), content);
  }

  row(
    uuid: string,
    timeMs: number,
    columns: readonly string[],
    value: (at: number) => number,
  ): void {
    let layout = this.#layouts.get(columns);
    if (layout === undefined) {
      layout = this.#layouts.size;
      this.#layouts.set(columns, layout);
      this.#waiting += `${JSON.stringify({ layout, uuid, columns })}\n`;
    }
    let line = `[${layout},${timeMs}`;
    for (let at = 0; at < columns.length; at++) {
      const reading = value(at);
      line += Number.isNaN(reading) ? ",null" : `,${reading}`;
    }
    this.#waiting += `${line}]\n`;
  }

  output(chunk: Uint8Array): void {
    appendFileSync(path.join(this.folder, "output.log"), chunk);
  }

  /** Writes buffered rows to the operating system: from then on they survive this process. */
  flush(): void {
    if (this.#waiting === "") return;
    const text = this.#waiting;
    this.#waiting = "";
    writeSync(this.#trace, text);
  }

  close(): void {
    if (this.#closed) return;
    this.flush();
    this.#closed = true;
    closeSync(this.#trace);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Reads an interrupted run. A truncated last line is skipped. */
export function readPartial(folder: string): RunFile {
  const text = (name: string): string | undefined => {
    try {
      return readFileSync(path.join(folder, name), "utf8");
    } catch (thrown) {
      if (systemCode(thrown) === "ENOENT") return undefined;
      throw new GpulseError(
        "FILE_UNREADABLE",
        `${folder} cannot be read (${formatError(thrown)}).`,
        {
          cause: thrown,
        },
      );
    }
  };
  const described = text("run.json");
  if (described === undefined)
    throw new GpulseError("RUN_FILE", `${folder} has no interrupted run: run.json is missing.`);
  const run = checkRun(parse(described), folder);
  const builder = new TraceBuilder();
  const endMs = replay(text("trace.jsonl") ?? "", builder);
  const [before, after] = ["snapshot-before.json", "snapshot-after.json"].map(text);
  return {
    run: { ...run, endedMs: Math.max(run.endedMs, endMs ?? run.startedMs) },
    trace: builder.build(),
    before: before === undefined ? undefined : parse(before),
    after: after === undefined ? undefined : parse(after),
    output: Buffer.from(text("output.log") ?? ""),
  };
}

/** Returns the time of the newest row. */
function replay(lines: string, builder: TraceBuilder): number | undefined {
  const layouts = new Map<number, { readonly uuid: string; readonly columns: readonly string[] }>();
  let newest: number | undefined;
  for (const line of lines.split("\n")) {
    const value = parse(line);
    if (v.is(rowSchema, value)) {
      const [layout, timeMs, ...values] = value;
      const plan = layouts.get(layout);
      if (plan === undefined) continue;
      builder.add(plan.uuid, timeMs, plan.columns, (at) => values[at] ?? Number.NaN);
      newest = Math.max(newest ?? timeMs, timeMs);
    } else if (v.is(layoutSchema, value)) layouts.set(value.layout, value);
  }
  return newest;
}

const layoutSchema = v.object({
  layout: v.number(),
  uuid: v.string(),
  columns: v.array(v.string()),
});
const rowSchema = v.tupleWithRest([v.number(), v.number()], v.nullable(v.number()));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The last line of a file whose writer was killed.
    return undefined;
  }
}
