/** Puts lines on the screen, only those that changed, as one synchronised update. Nothing is piled up for a slow terminal. */

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

  /** Returns whether it was written: a terminal that still has output pending skips this picture. */
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

  /** Everything is drawn again the next time: after a resize, or when something else wrote there. */
  forget(): void {
    this.#before = [];
    this.#output.write("\u001b[0m\u001b[2J");
  }
}
