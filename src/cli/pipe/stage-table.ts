/** Shows the state of a pipeline's stages: a table that is redrawn on a terminal, plain lines elsewhere. */
import { Writable } from "node:stream";
import type { CommandIo } from "../command/io.ts";
import type { Pipe } from "../../pipeline/stream/pipe.ts";
import { alignColumns } from "../table.ts";
import type { StageKind } from "./pipeline-file.ts";
import { lagRecords } from "./progress.ts";

export type StageStatus = "waiting" | "running" | "done" | "done before" | "stopped" | "failed";

export interface StageRow {
  readonly name: string;
  readonly kind: StageKind;
  standing: StageStatus;
  beganMs?: number;
  pipe?: Pipe;
  /** Additional text besides the counts. */
  note?: string;
}

const drawEveryMs = 500;
const lineEveryMs = 10_000;

export class StageTable {
  readonly rows: readonly StageRow[];
  readonly #stderr: CommandIo["stderr"];
  readonly #nowMs: () => number;
  readonly #isTerminal: boolean;
  #drawn = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(rows: readonly StageRow[], stderr: CommandIo["stderr"], nowMs: () => number) {
    this.rows = rows;
    this.#stderr = stderr;
    this.#nowMs = nowMs;
    this.#isTerminal = stderr.isTTY === true;
  }

  start(): void {
    const tick = (): void => {
      if (this.#isTerminal) this.#draw();
      else for (const row of this.rows) if (row.standing === "running") this.#report(row);
    };
    this.#timer = setInterval(tick, this.#isTerminal ? drawEveryMs : lineEveryMs).unref();
    if (this.#isTerminal) this.#draw();
  }

  stop(): void {
    clearInterval(this.#timer);
    if (this.#isTerminal) this.#draw();
    this.#drawn = 0;
  }

  change(row: StageRow, standing: StageStatus, note?: string): void {
    row.standing = standing;
    if (note !== undefined) row.note = note;
    if (standing === "running") row.beganMs = this.#nowMs();
    if (this.#isTerminal) this.#draw();
    else this.#report(row);
  }

  /** Prints a message of a stage above the table. */
  say(text: string): void {
    this.#clear();
    this.#stderr.write(`${text}\n`);
    if (this.#isTerminal) this.#draw();
  }

  /** Standard error of a stage: prefixes its lines with the stage's name. */
  streamFor(name: string): NodeJS.WritableStream {
    let rest = "";
    return new Writable({
      write: (chunk: Buffer | string, _encoding, done) => {
        const lines = (rest + String(chunk)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.say(`${name}: ${line}`);
        done();
      },
    });
  }

  #report(row: StageRow): void {
    const [name, , standing, ...rest] = cellsOf(row, this.#nowMs());
    const [frames, rate, lag, letters] = rest;
    const counts =
      frames === "" ? "" : `  ${frames} frames  ${rate}/s  lag ${lag}  dead letters ${letters}`;
    const note = row.note === undefined ? "" : `  ${row.note}`;
    this.#stderr.write(`${name}: ${standing}${counts}${note}\n`);
  }

  #clear(): void {
    if (this.#drawn > 0) this.#stderr.write(`\u001b[${this.#drawn}A\u001b[J`);
    this.#drawn = 0;
  }

  #draw(): void {
    this.#clear();
    const table = renderStageTable(this.rows, this.#nowMs());
    this.#stderr.write(table);
    this.#drawn = table.split("\n").length - 1;
  }
}

function renderStageTable(rows: readonly StageRow[], nowMs: number): string {
  return alignColumns([
    ["STAGE", "DOES", "STATE", "FRAMES", "PER SECOND", "LAG", "DEAD LETTERS", ""],
    ...rows.map((row) => [...cellsOf(row, nowMs), row.note ?? ""]),
  ]);
}

function cellsOf({ name, kind, standing, pipe, beganMs }: StageRow, nowMs: number): string[] {
  if (pipe === undefined) return [name, kind, standing, "", "", "", ""];
  const seconds = Math.max(0.001, (nowMs - (beganMs ?? nowMs)) / 1_000);
  return [
    name,
    kind,
    standing,
    pipe.frames.toLocaleString("en-US"),
    Math.round(pipe.frames / seconds).toLocaleString("en-US"),
    lagOf(pipe),
    pipe.deadLetters.toLocaleString("en-US"),
  ];
}

/** Lag in records if the source reports it, otherwise the age of the newest frame. */
function lagOf(pipe: Pipe): string {
  const records = lagRecords(pipe);
  if (records !== undefined) return `${records.toLocaleString("en-US")} records`;
  const seconds = [...pipe.bySource.values()].flatMap(({ lagSeconds }) => lagSeconds ?? []);
  if (seconds.length === 0) return "-";
  const most = Math.max(...seconds);
  return most < 120
    ? `${most.toFixed(1)} s`
    : most < 172_800
      ? `${Math.round(most / 3_600)} h`
      : `${Math.round(most / 86_400)} d`;
}
