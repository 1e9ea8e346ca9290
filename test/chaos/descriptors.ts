// A hub without free file descriptors, because idle connections use all of them. It must not exit, and must recover by
// itself when they are closed.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

import { runProcess } from "../../engines/process.ts";
import type { Chaos } from "./counts.ts";
import { openChaosLab } from "./fleet.ts";
import { backToLevel, levelOf } from "./level.ts";
import { verifyAll } from "./storm.ts";

const DESCRIPTORS = 128;

export async function descriptorsGone(
  chaos: Chaos,
  context: { skip(note: string): never },
  rounds: number,
): Promise<void> {
  const limited = ["prlimit", `--nofile=${DESCRIPTORS}:${DESCRIPTORS}`, "--"];
  const tried = await runProcess("prlimit", ["--version"]).catch(() => undefined);
  if (tried?.code !== 0) return context.skip("needs prlimit, which comes with Linux");
  const lab = await openChaosLab({ agents: 1, under: limited });
  const idle: Socket[] = [];
  try {
    await lab.flowing();
    const before = levelOf(lab.hub.process.pid);
    for (let round = 0; round < rounds; round++) {
      for (let at = 0; at < DESCRIPTORS * 2; at++) {
        const socket = connect(lab.place.port, "127.0.0.1");
        socket.on("error", () => undefined);
        idle.push(socket);
      }
      await sleep(1_500);
      expect(lab.hub.process.exited(), lab.hub.process.output()).toBeUndefined();
      chaos.fault("file descriptors gone");
      const closing = idle.splice(0).map(async (socket) => {
        if (socket.closed) return;
        socket.destroy();
        await once(socket, "close");
      });
      await Promise.all(closing);
      await lab.calm();
    }
    await backToLevel("the hub", lab.hub.process.pid, before);
    await verifyAll(lab, chaos);
  } finally {
    for (const socket of idle) socket.destroy();
    await lab.close();
  }
}
