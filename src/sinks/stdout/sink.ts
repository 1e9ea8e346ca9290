/** Writes frames to a stream and waits while its reader is slow. */
import { systemCode } from "../../base/error.ts";
import { frameToJson } from "../../formats/json/frame.ts";
import { PageWriter } from "../../formats/prometheus/page.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";

export class StdoutSink implements Sink {
  readonly name = "stdout";
  readonly #stream: NodeJS.WritableStream;
  readonly #page: PageWriter | undefined;
  #broken: Error | undefined;
  /** True once the reader has closed the pipe, as `… | head` does; later frames are discarded without an error. */
  #readerGone = false;

  constructor(format: "json" | "prometheus", stream: NodeJS.WritableStream) {
    this.#stream = stream;
    this.#page = format === "prometheus" ? new PageWriter("text") : undefined;
    stream.on("error", (error: Error) => {
      if (systemCode(error) === "EPIPE") this.#readerGone = true;
      else this.#broken = error;
    });
  }

  async write({ frame, source, tier, tags }: Delivery): Promise<void> {
    if (this.#readerGone) return;
    if (this.#broken !== undefined) throw this.#broken;
    const text =
      this.#page?.write([frame], { timestamps: true }) ??
      `${frameToJson(frame, source, tier, tags)}\n`;
    if (this.#stream.write(text)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#stream.off("drain", done).off("error", done).off("close", done);
        resolve();
      };
      this.#stream.on("drain", done).on("error", done).on("close", done);
    });
  }

  close(): void {}
}
