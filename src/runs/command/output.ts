/** Parses a command's output: lines, phase marks, the amount of work, and a bounded copy. */
import { StringDecoder } from "node:string_decoder";
import type { RunPhase } from "../run.ts";
import type { StreamName } from "./child.ts";

const maxLine = 16_384;
/** Ten matches a second for more than a day. */
const maxMatches = 1_000_000;

/** Splits each stream into lines; a carriage return also ends a line, since progress bars use it. */
export class LineReader {
  readonly #onLine: (line: string) => void;
  readonly #streams = {
    stdout: { decoder: new StringDecoder("utf8"), rest: "" },
    stderr: { decoder: new StringDecoder("utf8"), rest: "" },
  };

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  chunk(bytes: Buffer, stream: StreamName): void {
    const state = this.#streams[stream];
    const lines = (state.rest + state.decoder.write(bytes)).split(/[\r\n]+/);
    // A program that never ends a line must not fill the memory.
    state.rest = (lines.pop() ?? "").slice(-maxLine);
    for (const line of lines) if (line !== "") this.#onLine(line.slice(0, maxLine));
  }

  end(): void {
    for (const state of Object.values(this.#streams)) {
      if (state.rest !== "") this.#onLine(state.rest);
      state.rest = "";
    }
  }
}

/** `::phase warm-up::` on its own line or within one. */
const ownMark = /::phase ([^:\n]{1,100})::/;

export class PhaseReader {
  readonly #pattern: RegExp | undefined;
  readonly #marks: { readonly name: string; readonly startMs: number }[] = [];

  /** The pattern's first group is the phase's name; without a group the whole match is. */
  constructor(pattern: RegExp | undefined) {
    this.#pattern = pattern;
  }

  line(text: string, timeMs: number): void {
    const match = ownMark.exec(text) ?? this.#pattern?.exec(text);
    const name = (match?.[1] ?? match?.[0])?.trim().slice(0, 100);
    if (name === undefined || name === "" || this.#marks.length >= 1_000) return;
    // A repeated line does not start another phase.
    if (this.#marks.at(-1)?.name !== name) this.#marks.push({ name, startMs: timeMs });
  }

  /** The number of phases that have begun. */
  get count(): number {
    return this.#marks.length;
  }

  /** Each phase lasts until the next begins, the last one until the end. */
  phases(endedMs: number): RunPhase[] {
    return this.#marks.map((mark, at) => ({
      ...mark,
      endMs: this.#marks[at + 1]?.startMs ?? Math.max(endedMs, mark.startMs),
    }));
  }
}

/** Returns the only phase of that name and the number of phases begun by then, or why none can be measured. */
export function findPhase(
  phases: readonly RunPhase[],
  name: string,
): (RunPhase & { readonly count: number }) | { readonly problem: string } {
  const [only, ...more] = phases.filter((one) => one.name === name);
  const others = [...new Set(phases.map((one) => one.name))].slice(0, 10).join(", ");
  if (only === undefined)
    return {
      problem: `the output marks no phase "${name}", ${others === "" ? "and no other" : `only ${others}`}`,
    };
  if (more.length > 0)
    return {
      problem: `the output marks ${more.length + 1} phases "${name}": give each its own name`,
    };
  return only.endMs > only.startMs
    ? { ...only, count: phases.indexOf(only) + 1 }
    : { problem: `the phase "${name}" has no duration` };
}

export class WorkReader {
  readonly #pattern: RegExp;
  readonly #take: "sum" | "last";
  /** For `sum`, every match with its phase; for `last`, only the last match. */
  #matches: { readonly value: number; readonly phase: number }[] = [];
  #amount: number | undefined;

  constructor(pattern: RegExp, take: "sum" | "last") {
    this.#pattern = pattern;
    this.#take = take;
  }

  /** @param phase the number of phases that have begun */
  line(text: string, phase: number): void {
    const found = this.#pattern.exec(text)?.[1];
    // Thousands separators as in 1,234.5 are accepted.
    const value = found === undefined ? Number.NaN : Number(found.replaceAll(/[,_](?=\d{3})/g, ""));
    if (!Number.isFinite(value)) return;
    this.#amount = this.#take === "sum" ? (this.#amount ?? 0) + value : value;
    if (this.#take === "last") this.#matches = [];
    if (this.#matches.length < maxMatches) this.#matches.push({ value, phase });
  }

  /** Undefined if no line matched. */
  amount(): number | undefined {
    return this.#amount;
  }

  /** The sum of the matches within the phase, or the last match since its start: a total may be printed after its end. */
  amountIn(phase: number): number | undefined {
    if (this.#matches.length >= maxMatches) return undefined;
    const within = this.#matches.filter((one) =>
      this.#take === "last" ? one.phase >= phase : one.phase === phase,
    );
    return within.length === 0 ? undefined : within.reduce((sum, { value }) => sum + value, 0);
  }
}

/** The beginning of the output, up to the limit; bytes beyond are counted. */
export class OutputLog {
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #cutBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the part of the chunk that was stored. */
  add(chunk: Buffer): Buffer {
    const kept = chunk.subarray(0, Math.max(0, this.#maxBytes - this.#bytes));
    this.#cutBytes += chunk.length - kept.length;
    this.#bytes += kept.length;
    if (kept.length > 0) this.#chunks.push(Buffer.from(kept));
    return kept;
  }

  get cutBytes(): number {
    return this.#cutBytes;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}
