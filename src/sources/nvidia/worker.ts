/**
 * The thread that owns every NVML call. It answers reads, and between them makes the slow calls one at a time. A call that
 * never returns stops this thread and nothing else: the main thread never waits for it without a deadline, nor ends it.
 */
import { parentPort, workerData } from "node:worker_threads";
import { code, codeName } from "./nvml/codes.ts";
import { LibraryLoadError, loadNvml, type LoadedNvml } from "./nvml/library.ts";
import type { Answer, Asked, Opened, Request, Trouble, WorkerSettings } from "./protocol.ts";
import { readCuda, readDriver, readInventory } from "./reader/inventory.ts";
import { Rota } from "./reader/rota.ts";
import { Session } from "./reader/session.ts";
import { SleepFiles } from "./reader/sleep.ts";

/** A first slow read waits this long for everything to have been read once, well inside any deadline. */
const firstRoundMs = 700;

const port = parentPort;
if (port === null) throw new Error("BUG: the NVML worker was not started as a worker");
const { libraries, sysfs, busy } = workerData as WorkerSettings;
const sleep = new SleepFiles(sysfs);
const busyWord = new Int32Array(busy);
const rota = new Rota();
let loaded: LoadedNvml | undefined;
let session: Session | undefined;
let startedMs = 0;
let timer: NodeJS.Timeout | undefined;

/** The main thread sees by this word, also at exit, whether a call is under way. */
function inNvml<T>(work: () => T): T {
  Atomics.store(busyWord, 0, 1);
  try {
    return work();
  } finally {
    Atomics.store(busyWord, 0, 0);
    Atomics.notify(busyWord, 0);
  }
}

port.on("message", ({ id, request }: Asked) => {
  const reply = (answer: Answer, transfer: ArrayBuffer[] = []): void =>
    port.postMessage({ id, answer }, transfer);
  const fail = (thrown: unknown): void =>
    reply({ kind: "trouble", trouble: { stage: "worker", detail: String(thrown) } });
  handle(request, reply).catch(fail);
});

type Reply = (answer: Answer, transfer?: ArrayBuffer[]) => void;

async function handle(request: Request, reply: Reply): Promise<void> {
  switch (request.kind) {
    case "open": {
      const trouble = await open();
      return reply(
        trouble === undefined
          ? { kind: "opened", opened: describe() }
          : { kind: "trouble", trouble },
      );
    }
    case "start": {
      const trouble = await open();
      if (loaded === undefined || trouble !== undefined)
        return reply({ kind: "trouble", trouble: trouble ?? noLibrary });
      session ??= new Session(loaded.nvml, request.settings, Math.random, sleep);
      const started = session;
      inNvml(() => started.start(Date.now()));
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
      inNvml(() => (session === undefined ? loaded?.nvml.nvmlShutdown() : session.close()));
      reply({ kind: "done" });
      port?.close();
  }
}

const noLibrary: Trouble = { stage: "library", detail: "NVML is not loaded" };

/** Loads the library once and initialises it; again where it failed, since a driver may be loaded later. */
async function open(): Promise<Trouble | undefined> {
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
  const got = inNvml(() => nvml.nvmlInit_v2());
  return got === code.success ? undefined : { stage: "init", code: got, detail: codeName(got) };
}

function describe(): Opened {
  const { nvml, path } = loaded as LoadedNvml;
  return inNvml(() => ({
    library: path,
    driver: readDriver(nvml) ?? "unknown",
    cuda: readCuda(nvml),
    devices: readInventory(nvml).found.map(({ device }) => device),
  }));
}

async function read(tier: "fast" | "slow" | "static", knows: number, reply: Reply): Promise<void> {
  if (session === undefined) return reply({ kind: "trouble", trouble: noLibrary });
  const now = session;
  const isFirstRound = !now.hasSettled && performance.now() - startedMs < firstRoundMs;
  if (tier !== "fast" && isFirstRound) {
    setTimeout(() => void read(tier, knows, reply), 20);
    return;
  }
  const timeMs = Date.now();
  if (tier === "fast") {
    inNvml(() => now.pass(timeMs));
    rota.passed(timeMs);
    arm();
  } else if (tier === "slow") inNvml(() => now.readCounters(timeMs, () => performance.now()));
  if (now.cards.length === 0 && now.goneWith !== undefined) {
    const detail = codeName(now.goneWith);
    return reply({ kind: "trouble", trouble: { stage: "init", code: now.goneWith, detail } });
  }
  const snapshot = now.snapshot(tier, timeMs, knows);
  reply({ kind: "snapshot", snapshot }, [
    snapshot.values.buffer as ArrayBuffer,
    snapshot.presence.buffer as ArrayBuffer,
  ]);
}

/** Sets the timer for the next slow call; each pass sets it anew, since it moves the room there is. */
function arm(): void {
  if (session === undefined) return;
  clearTimeout(timer);
  const nowMs = Date.now();
  const { dueMs, costMs } = session.next(nowMs);
  const waitMs = session.hasSettled
    ? rota.waitMs(nowMs, dueMs, costMs)
    : session.hasReadAll
      ? dueMs - nowMs
      : 0;
  timer = setTimeout(step, Math.min(60_000, Math.max(0, waitMs)));
}

function step(): void {
  if (session === undefined) return;
  const now = session;
  const nowMs = Date.now();
  const { dueMs, costMs } = now.next(nowMs);
  if (!now.hasSettled || rota.waitMs(nowMs, dueMs, costMs) <= 0) {
    inNvml(() => now.step(nowMs, () => performance.now()));
    rota.called(Date.now());
  }
  arm();
}

/** What a fast pass costs, for the check on real hardware: many in a row, with nothing else going on in the process. */
function bench(passes: number): Answer {
  const now = session;
  if (now === undefined) return { kind: "trouble", trouble: noLibrary };
  clearTimeout(timer);
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  inNvml(() => {
    for (let pass = 0; pass < passes; pass++) now.pass(Date.now());
  });
  const wallMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  const tasks = now.cards.flatMap((card) =>
    [...card.fast, ...card.rota].map(({ name, costMs, everyMs }) => ({
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
