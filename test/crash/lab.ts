// Kills the built hub over and over while senders and an agent load it, its disk fails, its clock jumps and a second hub is started
// on its folder. Now and then, and at the end, every acknowledged sample is asked for: it is there once with its value, or the hub
// says how many are lost. What rollups answer has to be what the samples answer.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { launchHub, type RunningHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { agentsOf, type Killable, startPushAgent } from "../../engines/push.ts";
import { startRepeatingRelay } from "../../engines/repeating-relay.ts";
import { waitUntil } from "../../engines/wait.ts";
import { clockIn } from "../chaos/clock.ts";
import { noSamples, type SampleVerdict } from "../chaos/counts.ts";
import { openFrameLedger } from "../chaos/frames.ts";
import { seededRandom } from "../fuzz/mutate.ts";
import { buildInjector } from "./build-injector.ts";
import { damageFiles } from "./damage.ts";
import { Chance, drawLife, type Life } from "./life.ts";
import type { CrashReport } from "./report.ts";
import { isFromRollups, judgeRollups, type RangeAnswer } from "./rollups.ts";
import type { FaultRule } from "./rules.ts";
import { type FoundSeries, Sender } from "./senders.ts";
import { Deadline, isListening, lastLines, lastLinesOf } from "./watch.ts";

const checkEveryKills = 25;
/** So many of the kills are followed by damage to the log. */
const damageShare = 0.02;
const patienceMs = 180_000;
const hourMs = 3_600_000;
/** After so many the run ends: one cause often has many effects. */
const mostViolations = 5;

export interface CrashOptions {
  readonly kills: number;
  /** Also a sender of days of history, and a comparison of rollups with samples: takes several times as long. */
  readonly withHistory?: boolean;
  readonly seed?: number;
}

export async function crashTheHub(options: CrashOptions): Promise<CrashReport> {
  const asked = process.env["CRASH_SEED"];
  const drawn = options.seed ?? Math.floor(Math.random() * 2 ** 31);
  const seed = asked === undefined ? drawn : Number(asked);
  process.stderr.write(`crash: ${options.kills} kills, CRASH_SEED=${seed} repeats the schedule\n`);
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-crash-"));
  const lab = new CrashLab(folder, await freePort(), seed, options.withHistory ?? false);
  try {
    return await lab.run(options.kills);
  } finally {
    await lab.close();
    if (process.env["CRASH_KEEP"] === undefined) rmSync(folder, { recursive: true, force: true });
    else process.stderr.write(`crash: files are in ${folder}\n`);
  }
}

class CrashLab {
  readonly #folder: string;
  readonly #dataDir: string;
  readonly #port: number;
  readonly #url: string;
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #clock: ReturnType<typeof clockIn>;
  readonly #faultLog: string;
  readonly #ledger = openFrameLedger();
  readonly #stops: (() => unknown)[] = [];
  readonly #story: string[] = [];
  readonly #violations: string[] = [];
  readonly #failedStarts: Record<string, number> = {};
  readonly #moments: Record<string, number> = {};
  readonly #faults: Record<string, number> = {};
  readonly #running = new Set<RunningHub>();
  #senders: readonly Sender[] = [];
  #history: Sender | undefined;
  readonly #withHistory: boolean;
  #agent: Killable | undefined;
  #samples: SampleVerdict = noSamples;
  /** Samples that the hub reported as lost, and the senders miss. */
  #excused = 0;
  /** Samples that it reported as lost beyond those: frames of the agent. */
  #excusedFrames = 0;
  #isDamaged = false;
  #mayLackMark = false;
  /** Windows of a rollup's functions that were compared, and those of queries that rollups answered. */
  #rollups = { windows: 0, fromRollups: 0 };
  /** The life before this one had a hub in another PID namespace. */
  #hadNamespace = false;

  constructor(folder: string, port: number, seed: number, withHistory: boolean) {
    this.#withHistory = withHistory;
    this.#folder = folder;
    this.#dataDir = path.join(folder, "data");
    this.#faultLog = path.join(folder, "faults.log");
    this.#port = port;
    this.#url = `http://127.0.0.1:${port}`;
    this.#seed = seed;
    this.#chance = new Chance(seededRandom(seed));
    this.#clock = clockIn(folder, "hub");
    writeFileSync(this.#faultLog, "");
  }

  async run(kills: number): Promise<CrashReport> {
    const beganMs = performance.now();
    await buildInjector(this.#injector);
    await this.#startLoad();
    let checkedAt = 0;
    while (this.#kills < kills && this.#violations.length < mostViolations) {
      await this.#live(drawLife(this.#chance));
      // A mark that cannot be written and a log that loses its end are one fault too many: the count is too small then.
      if (this.#chance.is(damageShare) && !this.#mayLackMark) {
        const what = damageFiles(this.#dataDir, this.#chance);
        if (what !== undefined) {
          this.#count(this.#faults, what);
          this.#story.push(`damage: ${what}`);
          this.#isDamaged = true;
        }
      }
      if (!this.#isDamaged && this.#kills - checkedAt < checkEveryKills) continue;
      await this.#check(false);
      checkedAt = this.#kills;
    }
    await this.#check(true);
    const seconds = Math.round((performance.now() - beganMs) / 1000);
    if (this.#violations.length > 0) process.stderr.write(`${this.#story.slice(-60).join("\n")}\n`);
    return {
      seed: this.#seed,
      kills: this.#kills,
      seconds,
      moments: this.#moments,
      faults: { ...this.#faults, ...this.#injected() },
      failedStarts: this.#failedStarts,
      samples: this.#samples,
      rollups: this.#rollups,
      reportedLost: Math.min(this.#samples.lost, this.#excused + this.#excusedFrames),
      answers: this.#answers(),
      violations: this.#violations,
    };
  }

  async close(): Promise<void> {
    for (const hub of this.#running) await hub.kill();
    for (const stop of this.#stops.reverse()) await stop();
  }

  get #kills(): number {
    return Object.values(this.#moments).reduce((total, count) => total + count, 0);
  }

  get #injector(): string {
    return path.join(this.#folder, "inject.mjs");
  }

  async #startLoad(): Promise<void> {
    const relay = await startRepeatingRelay({
      targetPort: this.#port,
      // Without it the agent would wait longer and longer between its attempts.
      retryForMs: 8_000,
      seen: (request) => this.#ledger.note(request),
    });
    this.#stops.push(() => relay.stop());
    this.#agent = await startPushAgent({
      hostName: "crash-node",
      source: "sim:1?seed=1",
      spool: path.join(this.#folder, "spool"),
      args: ["--interval=250ms", `--push=http://127.0.0.1:${relay.port}`],
    });
    this.#stops.push(() => this.#agent?.kill());
    this.#senders = [new Sender(this.#url, "remote"), new Sender(this.#url, "line")];
    if (this.#withHistory) {
      this.#history = new Sender(this.#url, "history");
      this.#senders = [...this.#senders, this.#history];
    }
    const upkeep = this.#startUpkeep();
    this.#stops.push(() => upkeep.stop());
  }

  /** Has the head sealed and blocks merged all the time: a snapshot seals first. */
  #startUpkeep(): { stop(): Promise<void> } {
    const stopping = new AbortController();
    const running = (async () => {
      while (!stopping.signal.aborted) {
        for (const work of ["snapshot", "clean_tombstones"]) {
          const route = `${this.#url}/api/v1/admin/tsdb/${work}`;
          // Where the hub is down there is nothing to seal.
          const signal = AbortSignal.timeout(3_000);
          await fetch(route, { method: "POST", signal }).catch(() => undefined);
        }
        this.#removeSnapshots();
        await sleep(80);
      }
    })();
    return {
      stop: async () => {
        stopping.abort();
        await running;
      },
    };
  }

  /** The snapshots of the store alone: the folder has files of the hub as well. */
  #removeSnapshots(): void {
    const folder = path.join(this.#dataDir, "snapshots");
    if (!existsSync(folder)) return;
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory())
        rmSync(path.join(folder, entry.name), { recursive: true, force: true });
  }

  async #launch(
    rules: readonly FaultRule[],
    options: { port?: number; under?: readonly string[] },
  ) {
    const { NODE_OPTIONS: importClock, ...clockEnv } = this.#clock.env;
    const env = {
      ...clockEnv,
      NODE_OPTIONS: `${importClock} --import=file://${this.#injector}`,
      CRASH_RULES: JSON.stringify(rules),
      CRASH_DATA: this.#dataDir,
      CRASH_LOG: this.#faultLog,
    };
    const hub = await launchHub({
      dataDir: this.#dataDir,
      port: options.port ?? this.#port,
      retention: "30d",
      env,
      ...(options.under === undefined ? {} : { under: options.under }),
    });
    this.#running.add(hub);
    return hub;
  }

  async #live(life: Life): Promise<void> {
    const { kill, rules, killAfter, killAfterMs, clock, secondHub, faults } = life;
    this.#mayLackMark = rules.some(
      ({ operations, file, outcome }) =>
        operations.includes("write") &&
        /^(EIO|ENOSPC)/.test(outcome) &&
        new RegExp(file).test("wal/acknowledged"),
    );
    this.#story.push(`life: kill ${kill}; ${faults.join(", ")} ${JSON.stringify(rules)}`);
    this.#clock.set(clock.startMs);
    const hub = await this.#launch(rules, {});
    const deadline = new Deadline(hub);
    const second = secondHub === "race" ? await this.#launchSecond(secondHub) : undefined;
    const jump = setTimeout(() => this.#clock.set(clock.jumpMs), clock.jumpAfterMs);
    if (killAfter === "listening") await deadline.until(patienceMs, () => isListening(hub));
    let late: RunningHub | undefined;
    if (secondHub !== "none" && secondHub !== "race" && hub.process.exited() === undefined)
      late = await this.#launchSecond(secondHub);
    // A second hub has to see the first one alive for as long as it starts.
    if (late !== undefined)
      await deadline.until(patienceMs, () => late?.process.exited() !== undefined);
    else await deadline.until(killAfterMs, () => false);
    clearTimeout(jump);
    this.#clock.set(0);
    if (clock.startMs !== 0 || clock.jumpMs !== 0) this.#count(this.#faults, "clock jump");
    const wasAlive = hub.process.exited() === undefined;
    if (late !== undefined && wasAlive && !/in use by/.test(late.process.output()))
      this.#violations.push(`a second hub did not refuse:\n${lastLines(late)}`);
    for (const other of [late, second]) if (other !== undefined) await this.#end(other);
    const output = hub.process.output();
    const wasListening = isListening(hub);
    const exit = await this.#end(hub);
    if (exit.signal === "SIGKILL")
      this.#count(this.#moments, wasListening ? kill : "while starting");
    // A second hub that starts before the first one listens may get the folder first.
    else this.#judgeExit(life, output, secondHub !== "none" && !wasListening);
    this.#hadNamespace = secondHub === "other namespace";
  }

  async #launchSecond(kind: Life["secondHub"]): Promise<RunningHub> {
    this.#count(this.#faults, `second hub, ${kind}`);
    return this.#launch([], {
      port: await freePort(),
      ...(kind === "other namespace"
        ? { under: ["unshare", "--pid", "--fork", "--kill-child"] }
        : {}),
    });
  }

  /** A hub may give up at the start where its disk fails: in one sentence, and not by a crash. */
  #judgeExit(life: Life, output: string, isRace: boolean): void {
    // A hub in another namespace dies a moment after the process that started it.
    const isLocked = /in use by/.test(output) && (isRace || this.#hadNamespace);
    const explained = life.rules.length > 0 || isLocked;
    const last = output.trim().split("\n").at(-1) ?? "";
    this.#story.push(`it ended by itself: ${last}`);
    if (!explained || /^ +at /m.test(output) || /BUG/.test(output) || / is up/.test(output))
      this.#violations.push(
        `the hub ended by itself (${JSON.stringify(life.rules)}):\n${lastLinesOf(output)}`,
      );
    else
      this.#count(
        this.#failedStarts,
        last.replaceAll(/[0-9a-f]{16}|\d+/g, "N").replace(this.#folder, ""),
      );
  }

  async #end(hub: RunningHub) {
    if (hub.process.exited() === undefined) process.kill(hub.process.pid, "SIGKILL");
    for (;;) {
      const exit = hub.process.exited();
      if (exit !== undefined) {
        this.#running.delete(hub);
        return exit;
      }
      await sleep(3);
    }
  }

  /** A hub without faults has every acknowledged sample, or says how many it has lost. */
  async #check(isLast: boolean): Promise<void> {
    const hub = await this.#launchHealthy();
    const before = this.#senders.map(({ batches }) => batches);
    const deadline = new Deadline(hub);
    await deadline.until(patienceMs, () =>
      this.#senders.every(({ batches }, at) => batches > (before[at] ?? 0)),
    );
    if (isLast) {
      for (const sender of this.#senders) await sender.stop();
      await this.#drainAgent();
    }
    const state = await this.#readState();
    const samples = await this.#judgeSenders();
    const newlyLost = samples.lost - this.#excused;
    if (this.#isDamaged) this.#excusedFrames += Math.max(0, state.lostSamples - newlyLost);
    this.#story.push(`check: ${JSON.stringify(samples)}, reported ${state.lostSamples}`);
    if (newlyLost > 0 && state.lostSamples < newlyLost)
      this.#violations.push(
        `${newlyLost} samples are lost, ${state.lostSamples} reported:\n${lastLines(hub)}`,
      );
    if (newlyLost > 0 && !this.#isDamaged)
      this.#violations.push(`${newlyLost} samples are lost without damage:\n${lastLines(hub)}`);
    for (const kind of ["duplicated", "wrong", "unexplained"] as const)
      if (samples[kind] > 0) this.#violations.push(`${samples[kind]} samples are ${kind}`);
    this.#excused = Math.max(this.#excused, samples.lost);
    this.#isDamaged = false;
    this.#samples = isLast ? addUp(samples, await this.#judgeFrames()) : samples;
    if (this.#history !== undefined) {
      if (isLast) await this.#waitForRollups(this.#history, hub);
      await this.#judgeRollups(this.#history);
    }
    await this.#end(hub);
  }

  /** Until the last whole hour of the history is answered from rollups. */
  async #waitForRollups(history: Sender, hub: RunningHub): Promise<void> {
    const { metric } = history;
    const lastMs = Math.floor(history.expectation().untilMs / hourMs) * hourMs;
    try {
      await waitUntil({ what: "rollups to answer", timeoutMs: patienceMs }, async () => {
        const query = `count_over_time(${metric}[1h])`;
        return isFromRollups(await this.#askRange(query, lastMs, lastMs, hourMs)) || undefined;
      });
    } catch (thrown) {
      const manifest = readFileSync(path.join(this.#dataDir, "manifest.json"), "utf8");
      const asked = new Date(lastMs).toISOString();
      this.#violations.push(
        `${String(thrown)} of ${asked}; the hub: ${lastLines(hub)}\nits manifest: ${manifest}`,
      );
    }
  }

  async #judgeRollups(history: Sender): Promise<void> {
    const { fromMs, untilMs } = history.expectation();
    const { windows, fromRollups, wrong } = await judgeRollups(
      history.metric,
      fromMs,
      untilMs,
      this.#askRange,
    );
    this.#story.push(
      `rollups: ${windows} windows, ${fromRollups} of rollups, ${wrong.length} wrong`,
    );
    this.#rollups.windows += windows;
    this.#rollups.fromRollups += fromRollups;
    if (wrong.length > 0)
      this.#violations.push(`${wrong.length} windows are wrong: ${wrong.slice(0, 5).join("; ")}`);
  }

  readonly #askRange = async (
    query: string,
    fromMs: number,
    toMs: number,
    stepMs: number,
  ): Promise<RangeAnswer> => {
    const [start, end, step] = [fromMs, toMs, stepMs].map((ms) => String(ms / 1000));
    const body = new URLSearchParams({ query, start, end, step } as Record<string, string>);
    return this.#ask("query_range", body);
  };

  async #launchHealthy(): Promise<RunningHub> {
    for (let attempt = 1; ; attempt++) {
      const hub = await this.#launch([], {});
      await new Deadline(hub).until(patienceMs, () => isListening(hub));
      if (isListening(hub)) return hub;
      await this.#end(hub);
      const output = hub.process.output();
      // A hub in another namespace dies a moment after the process that started it.
      if (attempt === 5 || !/in use by/.test(output))
        throw new Error(`the hub does not start on a disk without faults:\n${output}`);
      await sleep(300);
    }
  }

  /** Until everything that waits in the agent's spool is delivered. */
  async #drainAgent(): Promise<void> {
    const place = { dataDir: this.#dataDir, port: this.#port };
    await waitUntil({ what: "the agent's spool to be empty", timeoutMs: 180_000 }, async () => {
      const [agent] = await agentsOf(place);
      const left = agent?.state === "ok" ? agent.spool?.records : undefined;
      return left !== undefined && left <= 4 ? true : undefined;
    });
    await this.#agent?.stop();
  }

  async #judgeSenders(): Promise<SampleVerdict> {
    let total = noSamples;
    for (const sender of this.#senders) {
      const expectation = sender.expectation();
      const { fromMs, untilMs } = expectation;
      const { metric, windowMs } = sender;
      const found: FoundSeries[] = [];
      for (let toMs = untilMs; toMs >= fromMs; toMs -= windowMs)
        found.push(...(await this.#query(`${metric}[${windowMs}ms]`, toMs)));
      total = addUp(total, expectation.judge(found));
    }
    return total;
  }

  async #judgeFrames(): Promise<SampleVerdict> {
    const place = { dataDir: this.#dataDir, port: this.#port };
    const { missing, lostFrames: _, ...judged } = await this.#ledger.judge(place);
    this.#story.push(`frames: ${JSON.stringify(judged)}`);
    this.#story.push(...missing);
    if (judged.lost > this.#excusedFrames)
      this.#violations.push(
        `${judged.lost} samples of frames are lost, ${this.#excusedFrames} reported: ${missing.join(", ")}`,
      );
    for (const kind of ["duplicated", "wrong", "unexplained"] as const)
      if (judged[kind] > 0) this.#violations.push(`${judged[kind]} samples of frames are ${kind}`);
    return judged;
  }

  async #query(query: string, timeMs: number): Promise<readonly FoundSeries[]> {
    const body = new URLSearchParams({ query, time: String(timeMs / 1000) });
    return (await this.#ask("query", body)).series;
  }

  async #ask(route: "query" | "query_range", body: URLSearchParams): Promise<RangeAnswer> {
    const response = await fetch(`${this.#url}/api/v1/${route}`, { method: "POST", body });
    const answer = (await response.json()) as {
      error?: string;
      infos?: string[];
      data?: { result: FoundSeries[] };
    };
    if (answer.data === undefined) throw new Error(`the hub answered ${answer.error}`);
    return { series: answer.data.result, infos: answer.infos ?? [] };
  }

  /** What the hub says of itself. */
  async #readState(): Promise<{ lostSamples: number }> {
    const ready = await (await fetch(`${this.#url}/-/ready`)).text();
    const counts = [...ready.matchAll(/(\d+) acknowledged samples are lost/g)];
    return { lostSamples: counts.reduce((sum, [, count]) => sum + Number(count), 0) };
  }

  #injected(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const line of readFileSync(this.#faultLog, "utf8").split("\n")) {
      const [, outcome = "", operation = ""] = /^(.*) (\w+) \S+$/.exec(line) ?? [];
      if (outcome !== "") this.#count(counts, `${outcome} on ${operation}`);
    }
    return counts;
  }

  #answers(): Record<string, number> {
    const all: Record<string, number> = {};
    for (const { answers } of this.#senders)
      for (const [status, count] of Object.entries(answers))
        all[status] = (all[status] ?? 0) + count;
    return all;
  }

  #count(counts: Record<string, number>, name: string): void {
    counts[name] = (counts[name] ?? 0) + 1;
  }
}

function addUp(left: SampleVerdict, right: SampleVerdict): SampleVerdict {
  const keys = Object.keys(noSamples) as (keyof SampleVerdict)[];
  return Object.fromEntries(
    keys.map((key) => [key, left[key] + right[key]]),
  ) as unknown as SampleVerdict;
}
