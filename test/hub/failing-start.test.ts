import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { beforeAll, expect, test } from "vitest";

import { launchHub, startHub } from "../../engines/hub.ts";
import { ensureBuild } from "../../engines/program.ts";
import { buildInjector } from "../crash/build-injector.ts";
import type { FaultRule } from "../crash/rules.ts";

beforeAll(ensureBuild, 300_000);

test("a disk that fails at the start and again while closing is reported in one sentence", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-failing-start-"));
  const dataDir = path.join(folder, "data");
  const injector = path.join(folder, "inject.mjs");
  const rules: readonly FaultRule[] = [
    { operations: ["sync"], file: "^(wal|access)/", after: 0, outcome: "EIO" },
  ];
  try {
    await buildInjector(injector);
    const first = await startHub({ dataDir });
    const hourAgoMs = Date.now() - 3_600_000;
    const body = `interrupted value=1 ${hourAgoMs}`;
    const sent = await fetch(`${first.url}/api/v2/write?precision=ms`, { method: "POST", body });
    await first.kill();
    // Simulates a downtime of one hour: the next start ends the series, and therefore writes to the disk.
    for (const name of readdirSync(path.join(dataDir, "wal")))
      utimesSync(path.join(dataDir, "wal", name), hourAgoMs / 1_000, hourAgoMs / 1_000);
    rmSync(path.join(dataDir, "access"), { recursive: true });
    const second = await launchHub({
      dataDir,
      env: {
        NODE_OPTIONS: `--import=file://${injector}`,
        CRASH_RULES: JSON.stringify(rules),
        CRASH_DATA: dataDir,
        CRASH_LOG: path.join(folder, "faults.log"),
      },
    });
    const exit = await second.process.waitForExit();
    const output = second.process.output();
    await second.stop();

    expect(sent.status).toBe(204);
    expect(exit.code, output).toBe(2);
    expect(output).toMatch(/gpulse: Cannot write .*access.*EIO/);
    expect(output).toMatch(/not everything could be closed/);
    expect(output).not.toMatch(/BUG/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
