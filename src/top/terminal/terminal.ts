/**
 * Takes over the terminal: alternate screen, no cursor, raw keys, mouse. It is restored exactly once, however the program ends,
 * before anything else is printed.
 */
import { writeSync } from "node:fs";

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?1000h\u001b[?1006h\u001b[2J";
/** Reverses ENTER. Ends a synchronised update first, in case one was cut off. */
const LEAVE = "\u001b[?2026l\u001b[?1006l\u001b[?1000l\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l";

export interface Keyboard {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
  setEncoding(encoding: "utf8"): unknown;
  on(event: "data", listener: (text: string) => void): unknown;
  removeListener(event: "data", listener: (text: string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export class Terminal {
  readonly #fd: number;
  readonly #keyboard: Keyboard;
  readonly #update: (text: string) => void;
  #isOurs = false;

  constructor(fd: number, keyboard: Keyboard, onInput: (text: string) => void) {
    this.#fd = fd;
    this.#keyboard = keyboard;
    this.#update = onInput;
  }

  enter(): void {
    if (this.#isOurs) return;
    this.#isOurs = true;
    this.#write(ENTER);
    if (this.#keyboard.isTTY !== true) return;
    this.#keyboard.setRawMode?.(true);
    this.#keyboard.setEncoding("utf8");
    this.#keyboard.on("data", this.#update);
    this.#keyboard.resume();
  }

  /** Writes synchronously, because the process may be about to exit. */
  leave(): void {
    if (!this.#isOurs) return;
    this.#isOurs = false;
    this.#write(LEAVE);
    if (this.#keyboard.isTTY !== true) return;
    this.#keyboard.removeListener("data", this.#update);
    this.#keyboard.setRawMode?.(false);
    this.#keyboard.pause();
  }

  #write(text: string): void {
    const bytes = Buffer.from(text);
    for (let at = 0, tries = 0; at < bytes.length && tries < 1_000; tries += 1) {
      try {
        at += writeSync(this.#fd, bytes, at);
      } catch (thrown) {
        // A full terminal accepts more after a moment; a closed one needs no restore.
        if ((thrown as NodeJS.ErrnoException).code !== "EAGAIN") return;
      }
    }
  }
}
