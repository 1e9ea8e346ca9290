/** Writes lines as JSON objects, one per line, to standard output or to the end of a file. */
import { appendFile } from "node:fs/promises";
import { formatError, systemCode } from "../../base/error.ts";
import type { SendResult } from "../../base/send/batch-sender.ts";
import { detailsOf, type KernelLine, type LineTarget } from "./line.ts";

export function jsonLine(line: KernelLine): string {
  const { host, vendor, level, text, timeNs } = line;
  const micros = String((timeNs / 1_000n) % 1_000_000n).padStart(6, "0");
  const seconds = new Date(Number(timeNs / 1_000_000n)).toISOString().slice(0, 19);
  const time = `${seconds}.${micros}Z`;
  return `${JSON.stringify({ time, host, vendor, level, ...detailsOf(line), line: text })}\n`;
}

const all = (lines: readonly KernelLine[]): string => lines.map((line) => jsonLine(line)).join("");

export class StdoutLines implements LineTarget {
  readonly shown = "stdout";
  readonly #stream: NodeJS.WritableStream;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    // Each write receives its own error; without a listener the process would exit.
    stream.on("error", () => undefined);
  }

  async send(lines: readonly KernelLine[]): Promise<SendResult> {
    const problem = await new Promise<Error | undefined>((resolve) => {
      this.#stream.write(all(lines), (error) => resolve(error ?? undefined));
    });
    // The reader of the pipe (`… | head`) has exited.
    if (problem === undefined || systemCode(problem) === "EPIPE") return { outcome: "sent" };
    return { outcome: "retry", problem: formatError(problem) };
  }

  close(): void {}
}

export class FileLines implements LineTarget {
  readonly shown: string;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    this.shown = `jsonl:${path}`;
  }

  async send(lines: readonly KernelLine[]): Promise<SendResult> {
    try {
      await appendFile(this.#path, all(lines), { mode: 0o640 });
      return { outcome: "sent" };
    } catch (thrown) {
      return { outcome: "retry", problem: formatError(thrown) };
    }
  }

  close(): void {}
}
