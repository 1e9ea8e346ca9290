import { test } from "vitest";
import { killInALoop } from "./kill.ts";

test(
  "20 kills at random moments lose no acknowledged sample, and keep none twice or wrong",
  () => killInALoop(20, 1),
  60_000,
);
