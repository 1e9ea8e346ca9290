/**
 * Bytes of a GPU-Z log to lines. The log is cp1252 without a mark (° is the single byte 0xB0), CRLF or LF, and where
 * another program cut the live file short it holds a run of NULs with the next row behind it on the same line: a NUL
 * ends a line. Never holds more than one line in memory, however long the run or the line.
 */

/** No real row is near this long; what is longer is not a log, and is left out whole. */
const longestLineBytes = 65_536;

export class LineSplitter {
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #tooLong = false;
  /** Lines left out because they were too long. */
  overlong = 0;

  /** Whole lines, without their ends; empty ones are left out. */
  push(bytes: Uint8Array): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== 0x0a && byte !== 0x0d && byte !== 0x00) continue;
      if (at > start || this.#keptBytes > 0 || this.#tooLong) {
        this.#keep(bytes.subarray(start, at));
        const line = this.#take();
        if (line !== undefined) lines.push(line);
      }
      start = at + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
    return lines;
  }

  /** The last line, which no line end followed: it may be cut anywhere. */
  end(): string | undefined {
    return this.#keptBytes > 0 || this.#tooLong ? this.#take() : undefined;
  }

  #keep(part: Uint8Array): void {
    if (this.#tooLong || part.length === 0) return;
    if (this.#keptBytes + part.length > longestLineBytes) {
      this.#tooLong = true;
      this.#kept = [];
      this.#keptBytes = 0;
      return;
    }
    this.#kept.push(part.slice());
    this.#keptBytes += part.length;
  }

  #take(): string | undefined {
    const tooLong = this.#tooLong;
    const text = Buffer.concat(this.#kept).toString("latin1");
    this.#kept = [];
    this.#keptBytes = 0;
    this.#tooLong = false;
    if (!tooLong) return text.trim() === "" ? undefined : text;
    this.overlong++;
    return undefined;
  }
}
