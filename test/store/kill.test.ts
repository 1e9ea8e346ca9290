import { test } from "vitest";
import { killInALoop } from "./kill.ts";

test(
  "20 kills at random moments lose no acknowledged sample, and keep none twice or wrong",
  { retry: 0, timeout: 60_000 },
  () => killInALoop(20, 1),
);
