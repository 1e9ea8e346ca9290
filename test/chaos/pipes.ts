// Pipes that are killed while they transfer a log to the hub, through Kafka if available, whose broker is killed as
// well. Every row is stored exactly once: a restarted pipe resends rows, which are identified by GPU and time.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

import { hubProgram, startHub } from "../../engines/hub.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { type HubLocation, queryHub } from "../../engines/push.ts";
import { freePort } from "../../engines/ports.ts";
import { waitUntil } from "../../engines/wait.ts";
import { logStartMs, offsetsOf, wattsAt, writeLog } from "../engines/stream-lab.ts";
import { type Chaos, flawless, flaws, type SampleVerdict } from "./counts.ts";

const PATIENCE_MS = 180_000;
const UUID = "GPU-chaos";

export interface Broker {
  readonly bootstrap: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

export interface PipesOptions {
  readonly rows: number;
  /** Kills per pipe. */
  readonly kills: number;
  readonly broker?: Broker;
}

/** A pipe that is restarted after every failure or kill, until it has finished. */
interface Restarting {
  kill(): Promise<void>;
  readonly exited: () => boolean;
  start(): void;
  stop(): Promise<unknown>;
  output(): string;
}

function restarting(args: readonly string[]): Restarting {
  let running: RunningProcess;
  const start = (): void => {
    running = startProcess(process.execPath, [hubProgram, "pipe", ...args], {
      name: "gpulse pipe",
    });
  };
  start();
  return {
    start,
    exited: () => running.exited() !== undefined,
    kill: async () => {
      if (running.exited() === undefined) process.kill(running.pid, "SIGKILL");
      await running.waitForExit();
    },
    stop: () => running.stop(20_000),
    output: () => running.output(),
  };
}

export async function pipesUnderFire(chaos: Chaos, options: PipesOptions): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-chaos-pipes-"));
  const place: HubLocation = { dataDir: path.join(folder, "data"), port: await freePort() };
  const pipes: Restarting[] = [];
  const pipe = (name: string, from: string, to: string): Restarting => {
    const data = path.join(folder, name);
    const checkpoints = ["--checkpoint=1s", "--checkpoint-frames=500"];
    const made = restarting([`--from=${from}`, `--to=${to}`, `--data=${data}`, ...checkpoints]);
    pipes.push(made);
    return made;
  };
  let hub = await startHub(place);
  try {
    const file = path.join(folder, "log.txt");
    await writeLog(file, options.rows);
    const log = `gpuz:${file}?timezone=UTC&uuid=${UUID}&gpu-name=GeForce RTX 3080`;
    const sink = `hub+http://127.0.0.1:${place.port}`;
    const { broker } = options;
    const topic = `kafka://${broker?.bootstrap}/chaos`;
    if (broker === undefined) pipe("direct", log, sink);
    else pipe("in", log, `${topic}?create=true&partitions=1&timeout=120s`);
    /** Kills a random process, and restarts it and every process that failed because of it. */
    const killed: Record<string, () => Promise<void>> = {
      "kill -9 of a pipe": async () => {
        const one = chaos.pick(pipes);
        await one.kill();
        one.start();
      },
      "kill -9 of the hub": async () => {
        await hub.kill();
        hub = await startHub(place);
      },
      ...(broker !== undefined && {
        "Kafka down": async () => {
          await broker.kill();
          await sleep(chaos.between(500, 2_000));
          await broker.restart();
        },
      }),
    };
    if (broker !== undefined) {
      // Readers require that the topic exists.
      await waitUntil({ what: "the topic", timeoutMs: PATIENCE_MS }, () =>
        offsetsOf(broker.bootstrap, "chaos", "chaos"),
      );
      pipe("out", `${topic}?group=chaos&session=6s&timeout=120s`, sink);
    }
    for (let kill = 0; kill < options.kills; kill++) {
      const [kind, doIt] = Object.entries(killed)[kill % Object.keys(killed).length] ?? [
        "",
        undefined,
      ];
      await sleep(chaos.between(200, 1_500));
      await doIt?.();
      chaos.fault(kind);
    }
    let judged: SampleVerdict | undefined;
    await waitUntil({ what: "every row at the hub", timeoutMs: PATIENCE_MS }, async () => {
      judged = await verifyRows(place, options.rows);
      if (judged.lost === 0) return true;
      // A finished log stays finished; a pipe that has failed is restarted, as by a supervisor.
      for (const one of pipes) if (one.exited()) one.start();
      throw new Error(`${judged.lost} rows are not there:\n${pipes.at(-1)?.output().slice(-500)}`);
    });
    if (judged !== undefined) expect(flaws(chaos.judged(judged))).toEqual(flawless);
  } finally {
    for (const one of pipes) await one.stop();
    await hub.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function verifyRows(place: HubLocation, rows: number): Promise<SampleVerdict> {
  const endMs = logStartMs + rows * 1_000;
  const query = `gpu_power_watts{uuid="${UUID}"}[${rows + 60}s]`;
  const seen = new Set<number>();
  let [duplicated, wrong, unexplained] = [0, 0, 0];
  for (const { values = [] } of await queryHub(place, query, endMs)) {
    for (const [seconds, value] of values) {
      const timeMs = Math.round(seconds * 1_000);
      if (seen.has(timeMs)) duplicated++;
      else if (timeMs < logStartMs || timeMs >= endMs) unexplained++;
      else if (Number(value) !== wattsAt(timeMs)) wrong++;
      seen.add(timeMs);
    }
  }
  const lost = rows - (seen.size - unexplained);
  return { acknowledged: rows, lost, duplicated, wrong, unexplained };
}
