/** How far an analysis is: a line that is written over on a terminal, a line now and then elsewhere. */
import type { CommandIo } from "../command/io.ts";

const width = 24;
const barEveryMs = 200;
const lineEveryMs = 10_000;

export class StepProgress {
  readonly #stderr: CommandIo["stderr"];
  readonly #nowMs: () => number;
  #lastMs: number;
  #shown = false;

  constructor(stderr: CommandIo["stderr"], nowMs: () => number) {
    this.#stderr = stderr;
    this.#nowMs = nowMs;
    this.#lastMs = nowMs();
  }

  show(name: string, fraction: number): void {
    const nowMs = this.#nowMs();
    const terminal = this.#stderr.isTTY === true;
    if (nowMs - this.#lastMs < (terminal ? barEveryMs : lineEveryMs)) return;
    this.#lastMs = nowMs;
    const share = Math.min(1, Math.max(0, fraction));
    const text = `${String(Math.floor(share * 100)).padStart(3)} %  ${name}`;
    if (!terminal) {
      this.#stderr.write(`${text}\n`);
      return;
    }
    const filled = Math.round(share * width);
    this.#stderr.write(`\r\u001b[K${"█".repeat(filled)}${"░".repeat(width - filled)} ${text}`);
    this.#shown = true;
  }

  clear(): void {
    if (this.#shown) this.#stderr.write("\r\u001b[K");
    this.#shown = false;
  }
}
