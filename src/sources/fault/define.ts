/** The source `fault:`, which fails on purpose, to test readiness checks and alerts. */
import * as v from "valibot";
import { defineSource, type PolledSource } from "../source.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";

export const fault = defineSource({
  name: "fault",
  summary:
    "Fails on purpose, to test readiness checks and alerts: throws, hangs or returns garbage.",
  mainOption: "kind",
  options: v.strictObject({
    kind: v.pipe(
      v.picklist(["throw", "hang", "garbage"], "throw, hang or garbage"),
      v.description("Behavior of a read."),
    ),
  }),
  examples: [
    { url: "fault:throw", description: "every read fails" },
    { url: "fault:hang", description: "a read never ends" },
    { url: "fault:garbage", description: "a read returns something that is not a frame" },
  ],
  auto: false,
  doctor: async ({ kind }) => ({
    state: "found",
    says: `Will ${kind === "garbage" ? "return garbage" : kind} when read, as requested.`,
  }),
  create: async ({ kind }) => new FaultSource(kind),
});

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
