import { test } from "vitest";
import { killInALoop } from "../store/kill.ts";

test(
  "50 kills at random moments lose no acknowledged sample, and keep none twice or wrong",
  { retry: 0, timeout: 300_000 },
  () => killInALoop(50, 77),
);
