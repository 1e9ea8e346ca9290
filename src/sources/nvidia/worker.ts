/**
 * The process that makes every NVML call. It responds to reads, and makes the slow calls one at a time between them. A call that
 * crashes or never returns stops only this process. It ends with the program that started it.
 */
import { compileWhenBusy } from "../../base/compilers.ts";
import { residentBytes } from "../../base/resident-bytes.ts";
import { code, codeName } from "./nvml/codes.ts";
import { endWithParent } from "./end-with-parent.ts";
import { LibraryLoadError } from "./native.ts";
import { loadNvml, type LoadedNvml } from "./nvml/library.ts";
import type {
  WorkerResponse,
  RequestEnvelope,
  NvmlInfo,
  ProcessUsage,
  WorkerRequest,
  NvmlFailure,
  WorkerSettings,
} from "./protocol.ts";
import { readCuda, readDriver, readInventory } from "./reader/inventory.ts";
import { SlowCallScheduler } from "./reader/slow-call-scheduler.ts";
import { NvmlSession } from "./reader/session.ts";
import { nextClockReadMs } from "./reader/sm-clock.ts";
import { SleepFiles } from "./reader/sleep.ts";

/** A first slow read waits this long for every reading to be made once; it is well below any deadline. */
const firstRoundMs = 700;

const { libraries, sysfs } = JSON.parse(process.argv.at(-1) ?? "") as WorkerSettings;
const sleep = new SleepFiles(sysfs);
const scheduler = new SlowCallScheduler();
let loaded: LoadedNvml | undefined;
let session: NvmlSession | undefined;
let startedMs = 0;
let timer: NodeJS.Timeout | undefined;
let clockTimer: NodeJS.Timeout | undefined;

process.on("message", ({ id, request }: RequestEnvelope) => {
  const reply = (answer: WorkerResponse): void => void process.send?.({ id, answer });
  const fail = (thrown: unknown): void =>
    reply({ kind: "failure", problem: { stage: "worker", detail: String(thrown) } });
  handle(request, reply).catch(fail);
});
endWithParent();
// With an H200 read once a second, the compilers would take 4 MB and save no time.
compileWhenBusy();

type Reply = (answer: WorkerResponse) => void;

async function handle(request: WorkerRequest, reply: Reply): Promise<void> {
  switch (request.kind) {
    case "open": {
      const problem = await open();
      return reply(
        problem === undefined
          ? { kind: "opened", opened: describe() }
          : { kind: "failure", problem },
      );
    }
    case "start": {
      const problem = await open();
      if (loaded === undefined || problem !== undefined)
        return reply({ kind: "failure", problem: problem ?? noLibrary });
      session ??= new NvmlSession(loaded.nvml, request.settings, Math.random, sleep, request.known);
      session.start(Date.now());
      startedMs = performance.now();
      arm();
      return reply({ kind: "done" });
    }
    case "read":
      return read(request.tier, request.knows, reply);
    case "bench":
      return reply(bench(request.passes));
    case "close":
      clearTimeout(timer);
      clearTimeout(clockTimer);
      loaded?.nvml.nvmlShutdown();
      reply({ kind: "done" });
      process.disconnect();
  }
}

const noLibrary: NvmlFailure = { stage: "library", detail: "NVML is not loaded" };

/** Loads the library once and initialises it; retries after a failure, since a driver may be loaded later. */
async function open(): Promise<NvmlFailure | undefined> {
  if (session !== undefined) return undefined;
  try {
    loaded ??= await loadNvml(libraries);
  } catch (thrown) {
    const detail = thrown instanceof Error ? thrown.message : String(thrown);
    if (!(thrown instanceof LibraryLoadError)) return { stage: "koffi", detail };
    return { stage: thrown.refused ? "refused" : "library", detail };
  }
  if (sleep.together(sleep.gpus()) === "asleep")
    return { stage: "asleep", detail: "every NVIDIA GPU is asleep" };
  const { nvml } = loaded;
  const got = nvml.nvmlInit_v2();
  return got === code.success ? undefined : { stage: "init", code: got, detail: codeName(got) };
}

function describe(): NvmlInfo {
  const { nvml, path } = loaded as LoadedNvml;
  return {
    library: path,
    driver: readDriver(nvml) ?? "unknown",
    cuda: readCuda(nvml),
    devices: readInventory(nvml).found.map(({ device }) => device),
  };
}

async function read(tier: "fast" | "slow" | "static", knows: number, reply: Reply): Promise<void> {
  if (session === undefined) return reply({ kind: "failure", problem: noLibrary });
  const now = session;
  const isFirstRound = !now.hasSettled && performance.now() - startedMs < firstRoundMs;
  if (tier !== "fast" && isFirstRound) {
    setTimeout(() => void read(tier, knows, reply), 20);
    return;
  }
  const timeMs = Date.now();
  if (tier === "fast") {
    now.pass(timeMs);
    scheduler.passed(timeMs);
    arm();
    watchClocks();
  } else if (tier === "slow") now.readCounters(timeMs, () => performance.now());
  if (now.cards.length === 0 && now.goneWith !== undefined) {
    const detail = codeName(now.goneWith);
    return reply({ kind: "failure", problem: { stage: "init", code: now.goneWith, detail } });
  }
  const snapshot = now.snapshot(tier, timeMs, knows);
  reply({
    kind: "snapshot",
    snapshot: tier === "slow" ? { ...snapshot, usage: usage() } : snapshot,
  });
}

function usage(): ProcessUsage {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, residentBytes: residentBytes() };
}

/** Sets the timer for the next slow call. Called after each pass too, since a pass changes the available gap. */
function arm(): void {
  if (session === undefined) return;
  clearTimeout(timer);
  const nowMs = Date.now();
  const { dueMs, costMs } = session.next(nowMs);
  const waitMs = session.hasSettled
    ? scheduler.waitMs(nowMs, dueMs, costMs)
    : session.hasReadAll
      ? dueMs - nowMs
      : 0;
  timer = setTimeout(step, Math.min(60_000, Math.max(0, waitMs)));
}

/** Samples the clock between passes while a GPU is busy. */
function watchClocks(): void {
  if (session?.wantsClockSamples === true) clockTimer ??= clockTimeout(Date.now());
  else {
    clearTimeout(clockTimer);
    clockTimer = undefined;
  }
}

/** A separate timer, because looking up the other due tasks at every reading would cost more than the reading. */
function clockTimeout(nowMs: number): NodeJS.Timeout {
  return setTimeout(
    () => {
      const readMs = Date.now();
      session?.sampleClocks(readMs);
      clockTimer = clockTimeout(readMs);
    },
    nextClockReadMs(nowMs, Math.random()) - nowMs,
  );
}

function step(): void {
  if (session === undefined) return;
  const now = session;
  const nowMs = Date.now();
  const { dueMs, costMs } = now.next(nowMs);
  if (!now.hasSettled || scheduler.waitMs(nowMs, dueMs, costMs) <= 0) {
    now.step(nowMs, () => performance.now());
    scheduler.called(Date.now());
  }
  arm();
}

/** Measures the cost of a fast pass, for the check on real hardware: many passes in a row, with nothing else running in the process. */
function bench(passes: number): WorkerResponse {
  const now = session;
  if (now === undefined) return { kind: "failure", problem: noLibrary };
  clearTimeout(timer);
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  for (let pass = 0; pass < passes; pass++) now.pass(Date.now());
  const wallMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  const tasks = now.cards.flatMap((card) =>
    [...card.fast, ...card.scheduler].map(({ name, costMs, everyMs }) => ({
      name: `${card.device.index} ${name}`,
      costMicros: Math.round(costMs * 10_000) / 10,
      everyMs: Math.round(everyMs),
    })),
  );
  arm();
  return {
    kind: "bench",
    bench: {
      passes,
      wallMicros: (wallMs * 1_000) / passes,
      cpuMicros: (user + system) / passes,
      tasks,
    },
  };
}
