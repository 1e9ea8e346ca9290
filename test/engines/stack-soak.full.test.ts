// The soak of the native stack: 32 hours of virtual time through a hub, and ten real minutes of everything.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";

const MINUTES = 10;

test(
  "no restart, no growth in memory or file handles, no missed scrape",
  { timeout: (MINUTES + 15) * 60_000, retry: 0 },
  async (context) => {
    for (const tool of ["prometheus", "redis-server", "postgresql", "nginx"] as const)
      toolOrSkip(context, tool);
    const dir = mkdtempSync(path.join(tmpdir(), "gpulse-soak-"));
    try {
      const done = await runProcess(
        process.execPath,
        [
          path.join(repository, "scripts/run-ts.mjs"),
          "deploy/stack/main.ts",
          "--tools",
          "soak",
          `--minutes=${MINUTES}`,
          "--ports=free",
          `--data=${dir}`,
        ],
        { timeoutMs: (MINUTES + 14) * 60_000 },
      );
      expect([done.code, done.stdout]).toEqual([
        0,
        expect.stringContaining("verdict: no restart, no growth, no missed scrape"),
      ]);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
);
