/** What a person should know about a log that was read: damaged lines, and hours and clocks that are not plain. Says each kind a few times, not a million. */
import type { RowCounts } from "../../formats/gpuz/rows.ts";
import type { TimeNote } from "../../formats/gpuz/time.ts";
import type { Log } from "../../base/log.ts";

const timeSays: Record<TimeNote, string> = {
  twice: "this hour comes twice when clocks go back: took the one nearer to the row before",
  never: "this hour does not exist in the time zone: is timezone=… that of the logging machine?",
  back: "the clock of the logging machine went back: the row keeps its time",
  "same-second": "several rows share a second: told apart by a millisecond each",
};
const mostOfAKind: Record<TimeNote, number> = { twice: 1, never: 1, back: 10, "same-second": 1 };

export class LogNotes {
  readonly #file: string;
  readonly #log: Log;
  readonly #said = new Map<string, number>();

  constructor(file: string, log: Log) {
    this.#file = file;
    this.#log = log;
  }

  say(message: string): void {
    this.#log.warn(message, { file: this.#file });
  }

  time(note: TimeNote, localMs: number, timeMs: number): void {
    const said = (this.#said.get(note) ?? 0) + 1;
    this.#said.set(note, said);
    if (said > mostOfAKind[note]) return;
    const row = new Date(localMs).toISOString().slice(0, 19).replace("T", " ");
    const fields = { file: this.#file, row, instant: new Date(timeMs).toISOString() };
    if (note === "same-second") this.#log.info(timeSays[note], fields);
    else this.#log.warn(timeSays[note], fields);
  }

  /** Says each count once, when it first is not zero. */
  warnings(counts: RowCounts): void {
    const warn = (kind: keyof RowCounts, message: string): void => {
      if (counts[kind] === 0 || this.#said.has(kind)) return;
      this.#said.set(kind, 1);
      this.#log.warn(message, { file: this.#file, lines: counts[kind] });
    };
    warn("beforeHeader", "rows before the first header were left out: their columns are unknown");
    warn(
      "unusable",
      "lines that are neither header nor a row with as many cells as its header were left out",
    );
    warn("cut", "rows that are cut short were used as far as they are whole");
    warn("decimalComma", "rows write a decimal comma: read as a point");
  }

  summary(counts: RowCounts): void {
    this.warnings(counts);
    if (counts.rows === 0) this.say("the log has a header but no rows");
    const stepsBack = this.#said.get("back") ?? 0;
    this.#log.info("read the log", {
      file: this.#file,
      rows: counts.rows,
      headers: counts.headers,
      ...(stepsBack === 0 ? {} : { stepsBack }),
    });
  }
}
