// Files damaged while no process runs: a hub's log, a block, an agent's spool, its cursor, a configuration. Damaged data
// may be lost and must be reported; everything else is stored exactly once, and both programs continue.

import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";

import { hubProgram } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type Chaos, flawless, flaws, type SampleVerdict } from "./counts.ts";
import { type ChaosLab, openChaosLab } from "./fleet.ts";

const PATIENCE_MS = 120_000;

function filesUnder(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name))
    .map((name) => path.join(folder, name))
    .filter((file) => statSync(file).size > 0)
    .sort();
}

const writtenBytes = (file: string): number =>
  readFileSync(file).findLastIndex((byte) => byte !== 0) + 1;

/** Flips one bit in the second quarter of the data written from `from` on: neither the header nor the newest data. */
function flipBit(file: string, chaos: Chaos, from = 0): void {
  const bytes = readFileSync(file);
  const at = from + Math.floor((writtenBytes(file) - from) * chaos.between(0.25, 0.5));
  bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(chaos.random() * 8));
  writeFileSync(file, bytes);
}

function zeroTail(file: string, chaos: Chaos): void {
  const bytes = readFileSync(file);
  bytes.fill(0, Math.floor(writtenBytes(file) * chaos.between(0.6, 0.9)));
  writeFileSync(file, bytes);
}

const cutTail = (file: string, chaos: Chaos): void =>
  truncateSync(file, Math.floor(writtenBytes(file) * chaos.between(0.6, 0.9)));

const harms = { "bit flipped": flipBit, "tail zeroed": zeroTail, "tail cut": cutTail };

/** Excludes reported losses of damaged data from the acknowledged samples. */
const besidesHarmed = (judged: SampleVerdict): SampleVerdict => ({
  ...judged,
  acknowledged: judged.acknowledged - judged.lost,
  lost: 0,
});

/** Damages the hub's log or a block while the hub is down. */
async function harmHub(
  lab: ChaosLab,
  chaos: Chaos,
  where: "wal" | "blocks",
  how: keyof typeof harms,
) {
  await lab.flowing();
  if (where === "blocks") {
    // A snapshot seals first.
    const sealed = await fetch(`${lab.hubUrl}/api/v1/admin/tsdb/snapshot`, { method: "POST" });
    expect(sealed.status).toBe(200);
  }
  await lab.hub.kill();
  const folder = path.join(lab.place.dataDir, where);
  const file = filesUnder(folder, /\d\.(wal|block)$/).findLast((one) => writtenBytes(one) > 0);
  if (file === undefined) throw new Error(`BUG: nothing to harm in ${folder}`);
  harms[how](file, chaos);
  chaos.fault(`${where === "wal" ? "log" : "block"} with its ${how}`);
  await lab.ready();
  await lab.flowing();
}

/** Damages the pending part of a spool while hub and agent are down. The agent must report the number of lost frames. */
async function harmSpool(lab: ChaosLab, chaos: Chaos): Promise<void> {
  const [agent] = lab.agents;
  if (agent === undefined) throw new Error("BUG: no agent");
  await lab.calm();
  await lab.hub.kill();
  // The spool may start a new segment at any time, so the bit is flipped in the segment that grew, after its delivered
  // frames; and after three appends, because damage to the newest frame alone looks like an append that a kill cut off.
  const before = spoolSizes(agent.spool);
  const sizes = new Map<string, Set<number>>();
  const file = await waitUntil({ what: "frames to wait", timeoutMs: PATIENCE_MS }, async () => {
    for (const [name, size] of spoolSizes(agent.spool)) {
      if (size <= (before.get(name) ?? 0) + 4_000) continue;
      const seen = (sizes.get(name) ?? new Set()).add(size);
      sizes.set(name, seen);
      if (seen.size >= 3) return name;
    }
    return undefined;
  });
  await agent.running.kill();
  flipBit(file, chaos, before.get(file));
  chaos.fault("spool with its bit flipped");
  await agent.start();
  await lab.ready();
  await lab.calm();
}

const spoolSizes = (folder: string): Map<string, number> =>
  new Map(filesUnder(folder, /\d\.spool$/).map((file) => [file, statSync(file).size]));

/** A spool without its cursor resends frames that the hub has, under a new spool id; still nothing is stored twice. */
async function harmCursor(lab: ChaosLab, chaos: Chaos): Promise<void> {
  const [agent] = lab.agents;
  if (agent === undefined) throw new Error("BUG: no agent");
  await agent.running.kill();
  for (const file of filesUnder(agent.spool, /cursor$/)) writeFileSync(file, "nonsense");
  chaos.fault("spool with its cursor overwritten");
  await agent.start();
  await lab.calm();
}

/** An invalid configuration is rejected with the file's name and without a stack trace, and the data is not touched. */
async function harmConfig(lab: ChaosLab, chaos: Chaos): Promise<void> {
  await lab.hub.kill();
  const file = path.join(lab.folder, "gpulse.yaml");
  for (const text of ["hub:\n  retention: [1\n", "hub: \u0000\u0001", "hub:\n  retentoin: 30d\n"]) {
    writeFileSync(file, text);
    const args = [hubProgram, "hub", `--config=${file}`, `--data=${lab.place.dataDir}`, "--port=0"];
    const done = await runProcess(process.execPath, args, { timeoutMs: PATIENCE_MS });
    expect(done.code, text).not.toBe(0);
    expect(done.code, text).not.toBe(null);
    expect(done.stderr).toContain("gpulse.yaml");
    expect(done.stderr).not.toMatch(/^ +at /m);
    chaos.fault("configuration that cannot be read");
  }
  await lab.ready();
}

/** test/engines/hub-damage.test.ts covers every file of the hub and every kind of damage; here agents push meanwhile. */
const hubHarms = [
  ["wal", "bit flipped"],
  ["wal", "tail zeroed"],
  ["blocks", "bit flipped"],
  ["blocks", "tail cut"],
] as const;

export async function damageFiles(chaos: Chaos, rounds = 1): Promise<void> {
  const lab = await openChaosLab({ agents: 1 });
  try {
    await lab.flowing();
    await harmCursor(lab, chaos);
    await harmConfig(lab, chaos);
    await lab.calm();
    await expect
      .poll(async () => flaws(await lab.ledger.judge(lab.place)), { timeout: PATIENCE_MS })
      .toEqual(flawless);
    await harmSpool(lab, chaos);
    const [agent] = lab.agents;
    const reported = Number(
      /lostRecords=(\d+)/.exec(agent?.running.process.output() ?? "")?.[1] ?? 0,
    );
    expect(reported, agent?.running.process.output()).toBeGreaterThan(0);
    // Exactly the reported number: frames that are in flight now arrive before the next poll.
    await expect
      .poll(async () => (await lab.ledger.judge(lab.place)).lostFrames, { timeout: PATIENCE_MS })
      .toBe(reported);
    for (let round = 0; round < rounds; round++) {
      for (const [where, how] of hubHarms) {
        await harmHub(lab, chaos, where, how);
        const judged = await lab.writer.judge(lab.hubUrl);
        if (judged.lost > 0)
          await expect
            .poll(() => lab.hub.process.output())
            .toMatch(/lost|missing|damaged|torn|cannot be read/);
      }
    }
    await lab.calm();
    await lab.writer.stop();
    for (const { running } of lab.agents) await running.stop();
    for (const judged of [await lab.writer.judge(lab.hubUrl), await lab.ledger.judge(lab.place)])
      expect(flaws(chaos.judged(besidesHarmed(judged)))).toEqual(flawless);
  } finally {
    await lab.close();
  }
}
