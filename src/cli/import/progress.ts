/** How far an import is: a bar on a terminal, a line now and then elsewhere, nothing for what is done at once. */
import type { CommandIo } from "../command/io.ts";

const barWidth = 24;
const barEveryMs = 200;
const lineEveryMs = 10_000;

export class ImportProgress {
  readonly #stderr: CommandIo["stderr"];
  readonly #nowMs: () => number;
  readonly #beganMs: number;
  #lastMs: number;
  #shown = false;

  constructor(stderr: CommandIo["stderr"], nowMs: () => number) {
    this.#stderr = stderr;
    this.#nowMs = nowMs;
    this.#beganMs = nowMs();
    this.#lastMs = this.#beganMs;
  }

  show(name: string, fraction: number, samples: number): void {
    const nowMs = this.#nowMs();
    const isTerminal = this.#stderr.isTTY === true;
    if (nowMs - this.#lastMs < (isTerminal ? barEveryMs : lineEveryMs)) return;
    this.#lastMs = nowMs;
    const rate = Math.round((samples / Math.max(1, nowMs - this.#beganMs)) * 1_000);
    const text = `${name}  ${percent(fraction)}  ${formatCount(samples)} samples  ${formatCount(rate)}/s`;
    if (!isTerminal) {
      this.#stderr.write(`${text}\n`);
      return;
    }
    const filled = Math.round(Math.min(1, fraction) * barWidth);
    this.#stderr.write(`\r\u001b[K${"█".repeat(filled)}${"░".repeat(barWidth - filled)} ${text}`);
    this.#shown = true;
  }

  /** The bar makes room for what is said next. */
  clear(): void {
    if (this.#shown) this.#stderr.write("\r\u001b[K");
    this.#shown = false;
  }
}

const percent = (fraction: number): string =>
  `${Math.floor(Math.min(1, Math.max(0, fraction)) * 100)} %`.padStart(5);

export const formatCount = (number: number): string => number.toLocaleString("en-US");
