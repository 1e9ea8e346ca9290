// A full disk and an unwritable one under the hub, while agents push: no acknowledged sample is lost, and rejected
// frames stay in the spools. The disk is a small tmpfs, which needs root on Linux.

import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";

import { hubProgram } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import { waitUntil } from "../../engines/wait.ts";
import type { Chaos } from "./counts.ts";
import { openChaosLab } from "./fleet.ts";
import { backToLevel, levelOf } from "./level.ts";
import { verifyAll } from "./storm.ts";

const PATIENCE_MS = 120_000;
const DISK_MB = 48;

/** Undefined if this machine does not permit mounts. */
async function mountDisk(): Promise<{ folder: string; stop(): Promise<void> } | undefined> {
  if (process.platform !== "linux") return undefined;
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-chaos-disk-"));
  const args = ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "gpulse-chaos", folder];
  const mounted = await runProcess("mount", args).catch(() => undefined);
  if (mounted?.code !== 0) {
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
  return {
    folder,
    stop: async () => {
      await runProcess("umount", [folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function fillUp(file: string): void {
  const fd = openSync(file, "w");
  const piece = Buffer.alloc(65_536, 1);
  try {
    for (let bytes = 0; bytes < DISK_MB * 2 ** 20; bytes += piece.length) writeSync(fd, piece);
  } catch {
    // The expected outcome: the disk is full.
  } finally {
    closeSync(fd);
  }
}

export async function runDiskFaults(
  chaos: Chaos,
  context: { skip(note: string): never },
  rounds: number,
): Promise<void> {
  const disk = await mountDisk();
  if (disk === undefined) return context.skip("needs root on Linux: a small disk is mounted");
  const lab = await openChaosLab({ agents: 1, dataDir: path.join(disk.folder, "data") }).catch(
    async (error: unknown) => {
      await disk.stop();
      throw error;
    },
  );
  try {
    await lab.flowing();
    const before = levelOf(lab.hub.process.pid);
    for (let round = 0; round < rounds; round++) {
      const ballast = path.join(disk.folder, "ballast");
      const refused = lab.writer.again();
      await waitUntil({ what: "writes to be refused", timeoutMs: PATIENCE_MS }, async () => {
        // The hub releases its reserved disk space, which has to be filled as well.
        fillUp(`${ballast}-${Date.now()}`);
        return lab.writer.again() > refused + 3 ? true : undefined;
      });
      expect(lab.hub.process.exited(), lab.hub.process.output()).toBeUndefined();
      const { stdout } = await runProcess("sh", ["-c", `rm -f ${ballast}-*; ls ${disk.folder}`]);
      expect(stdout).not.toContain("ballast");
      chaos.fault("disk full");
      await lab.calm();

      await lab.hub.kill();
      const remount = (how: string) => runProcess("mount", ["-o", `remount,${how}`, disk.folder]);
      expect((await remount("ro")).code).toBe(0);
      const args = [hubProgram, "hub", `--data=${lab.place.dataDir}`, "--port=0"];
      const started = await runProcess(process.execPath, args, { timeoutMs: PATIENCE_MS });
      expect([null, 0]).not.toContain(started.code);
      expect(started.stderr).toContain(lab.place.dataDir);
      expect(started.stderr).not.toMatch(/^ +at /m);
      expect((await remount("rw")).code).toBe(0);
      chaos.fault("disk read-only");
      await lab.calm();
    }
    await backToLevel("the hub", lab.hub.process.pid, before);
    await verifyAll(lab, chaos);
  } finally {
    await lab.close();
    await disk.stop();
  }
}
