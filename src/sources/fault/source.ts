/** A source whose every read goes wrong in the way it was asked to. */
import type { Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { PolledSource } from "../source.ts";

export class FaultSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers: readonly Tier[] = ["fast", "slow"];
  readonly #kind: "throw" | "hang" | "garbage";

  constructor(kind: "throw" | "hang" | "garbage") {
    this.#kind = kind;
  }

  devices(): readonly [] {
    return [];
  }

  read(): Frame | Promise<Frame> {
    if (this.#kind === "throw") throw new Error("this source fails on purpose");
    if (this.#kind === "hang") return new Promise<Frame>(() => {});
    return {
      timeMs: Number.NaN,
      layout: { series: [] },
      values: new Float64Array(3),
      presence: new Uint8Array(1),
    };
  }

  close(): void {}
}
