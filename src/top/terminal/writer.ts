/** Writes changed lines to the terminal, as one synchronised update. Output for a slow terminal is never queued. */

const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";

export interface TerminalOutput {
  write(text: string): unknown;
  readonly writableLength?: number;
}

export class ScreenWriter {
  readonly #output: TerminalOutput;
  #before: readonly string[] = [];

  constructor(output: TerminalOutput) {
    this.#output = output;
  }

  /** Returns true if the lines were written; a terminal with pending output skips this picture. */
  show(lines: readonly string[]): boolean {
    if ((this.#output.writableLength ?? 0) > 0) return false;
    let text = "";
    lines.forEach((line, at) => {
      if (line !== this.#before[at]) text += `\u001b[${at + 1};1H${line}`;
    });
    this.#before = lines;
    if (text !== "") this.#output.write(BEGIN + text + END);
    return true;
  }

  /** Clears the screen and redraws everything the next time, after a resize or after other output. */
  forget(): void {
    this.#before = [];
    this.#output.write("\u001b[0m\u001b[2J");
  }
}
