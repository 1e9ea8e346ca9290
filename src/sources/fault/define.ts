/** `fault:`, a source that misbehaves on purpose, to see how gpulse and one's alerts take it. */
import * as v from "valibot";
import { defineSource } from "../source.ts";

export const fault = defineSource({
  name: "fault",
  summary:
    "Misbehaves on purpose, for trying out readiness checks and alerts: throws, never answers, or gives garbage.",
  mainOption: "kind",
  options: v.strictObject({
    kind: v.pipe(
      v.picklist(["throw", "hang", "garbage"], "throw, hang or garbage"),
      v.description("What it does when it is read."),
    ),
  }),
  examples: [
    { url: "fault:throw", says: "every read fails" },
    { url: "fault:hang", says: "a read never ends" },
    { url: "fault:garbage", says: "a read gives something that is no frame" },
  ],
  auto: false,
  doctor: async ({ kind }) => ({
    state: "found",
    says: `Will ${kind === "garbage" ? "give garbage" : kind} when read, as asked.`,
  }),
  create: async ({ kind }) => {
    const { FaultSource } = await import("./source.ts");
    return new FaultSource(kind);
  },
});
