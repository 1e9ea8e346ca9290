/** Lines as JSON objects, one a line: on standard output or at the end of a file. */
import { appendFile } from "node:fs/promises";
import { formatError, systemCode } from "../../base/error.ts";
import type { PostResult } from "../request-batch.ts";
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
    // Each write is told of its own trouble; without a listener the process would end.
    stream.on("error", () => undefined);
  }

  async send(lines: readonly KernelLine[]): Promise<PostResult> {
    const problem = await new Promise<Error | undefined>((resolve) => {
      this.#stream.write(all(lines), (error) => resolve(error ?? undefined));
    });
    // `… | head` has seen enough: nobody wants what is left.
    if (problem === undefined || systemCode(problem) === "EPIPE") return { outcome: "taken" };
    return { outcome: "later", problem: formatError(problem), maybeTaken: true };
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

  async send(lines: readonly KernelLine[]): Promise<PostResult> {
    try {
      await appendFile(this.#path, all(lines), { mode: 0o640 });
      return { outcome: "taken" };
    } catch (thrown) {
      return { outcome: "later", problem: formatError(thrown), maybeTaken: true };
    }
  }

  close(): void {}
}
