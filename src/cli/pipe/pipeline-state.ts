/** Persists which stages of a pipeline are complete, in a small file beside it. A changed stage is not complete. */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import * as v from "valibot";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import { replaceFile } from "../../base/state/atomic.ts";
import type { Stage } from "./pipeline-file.ts";

const schema = v.object({
  version: v.literal(1),
  stages: v.record(v.string(), v.object({ done: v.string(), of: v.string() })),
});

export class PipelineState {
  readonly #file: string;
  #stages: v.InferOutput<typeof schema>["stages"] = {};

  constructor(file: string, again: boolean) {
    this.#file = file;
    if (again) rmSync(file, { force: true });
    else this.#read();
  }

  isDone(stage: Stage): boolean {
    return this.#stages[stage.name]?.of === fingerprint(stage);
  }

  done(stage: Stage, nowMs: number): void {
    const done = new Date(nowMs).toISOString();
    this.#stages = { ...this.#stages, [stage.name]: { done, of: fingerprint(stage) } };
    try {
      replaceFile(
        this.#file,
        `${JSON.stringify({ version: 1, stages: this.#stages }, undefined, 2)}\n`,
      );
    } catch (thrown) {
      throw new GpulseError(
        "PIPELINE_STAGE",
        `Stage "${stage.name}" is done, but ${this.#file} cannot be written (${formatError(thrown)}): name another place with --state.`,
        { cause: thrown },
      );
    }
  }

  #read(): void {
    let text: string;
    try {
      text = readFileSync(this.#file, "utf8");
    } catch (thrown) {
      if (systemCode(thrown) === "ENOENT") return;
      throw this.#unusable(formatError(thrown));
    }
    let given: unknown;
    try {
      given = JSON.parse(text);
    } catch (thrown) {
      throw this.#unusable(formatError(thrown));
    }
    const parsed = v.safeParse(schema, given);
    if (!parsed.success) throw this.#unusable("it is of another kind or version");
    this.#stages = parsed.output.stages;
  }

  #unusable(why: string): GpulseError {
    return new GpulseError(
      "PIPELINE_STAGE",
      `${this.#file} cannot be read as the state of a pipeline (${why}). Run with --again to start over, or pass another file with --state.`,
    );
  }
}

/** Hash of the stage's definition without its dependencies. */
function fingerprint({ given: { after: _, ...what } }: Stage): string {
  return createHash("sha256").update(JSON.stringify(what)).digest("hex").slice(0, 16);
}
