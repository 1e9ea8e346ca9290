/**
 * The cost of the job ledger within a whole hub: `npx tsx bench/jobs-hub.ts [GPUS] [SECONDS]`, 2,000 and 60 by default, in
 * machines of 8, one frame per second. Two built hubs receive the same frames over HTTP at the same time, one with the ledger and
 * one with `--jobs-retention 0`. Prints the processor time of both from /proc, and the ledger's share from profiles of both: the
 * time below the ledger's functions, and garbage collections in proportion, of all threads' processor time; then which other
 * functions differ. A second is one second of frames: on a loaded machine they take longer than that.
 */
import { fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startHub } from "../engines/hub.ts";
import { ensureBuild } from "../engines/program.ts";
import { waitUntil } from "../engines/wait.ts";
import { median, number, say } from "./hub-print.ts";
import type { JobsSenderSpec } from "./jobs-sender.ts";
import { processCost } from "./process-cost.ts";

const gpus = Number(process.argv[2] ?? "2000");
const seconds = Number(process.argv[3] ?? "60");
/** In seconds of frames: by then, code is compiled and jobs are open. */
const warmSeconds = 60;
const gpusPerMachine = 8;
const windowSeconds = 10;
/** The time without a profile is divided into this many. */
const windows = Math.max(1, Math.round(seconds / windowSeconds));
const samplingMicros = 250;
/** Functions of these files, and their callees, count as the ledger. */
const ledgerFiles = /src\/(?:hub|runs)\/jobs\//;

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
      readonly columnNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

await ensureBuild();
const shared = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const dir = mkdtempSync(path.join(shared, "gpulse-jobs-hub-"));
// Main thread only: workers inherit the variable. The first signal starts the profile, the second writes it.
const profiler = `data:text/javascript,${encodeURIComponent(`
  import { writeFileSync } from "node:fs";
  import { Session } from "node:inspector/promises";
  import { isMainThread } from "node:worker_threads";
  if (isMainThread) {
    let session;
    process.on("SIGUSR2", async () => {
      if (session === undefined) {
        session = new Session();
        session.connect();
        await session.post("Profiler.enable");
        await session.post("Profiler.setSamplingInterval", { interval: ${samplingMicros} });
        await session.post("Profiler.start");
        return;
      }
      const { profile } = await session.post("Profiler.stop");
      writeFileSync(${JSON.stringify(dir)} + "/profile-" + process.pid, JSON.stringify(profile));
    });
  }
`)}`;
const args = ["--insecure"];
// Both have the profiler, so that it costs both the same.
const env = { NODE_OPTIONS: `--import=${profiler}` };
const withLedger = await startHub({ dataDir: path.join(dir, "with"), args, env });
const without = await startHub({
  dataDir: path.join(dir, "without"),
  args: [...args, "--jobs-retention=0"],
  env,
});
const sender = fork(fileURLToPath(new URL("./jobs-sender.ts", import.meta.url)), {
  execArgv: ["--import", fileURLToPath(import.meta.resolve("tsx"))],
});
try {
  const spec: JobsSenderSpec = {
    hubUrls: [withLedger.url, without.url],
    machines: gpus / gpusPerMachine,
    gpusPerMachine,
    spoolDir: path.join(dir, "spool"),
  };
  const sent = { seconds: 0 };
  sender.on("message", (count) => (sent.seconds = Number(count)));
  sender.send(spec);
  await measure(async (more) => {
    const untilSeconds = sent.seconds + more;
    await waitUntil({ what: `${more} s of frames`, timeoutMs: 900_000 }, async () =>
      sent.seconds >= untilSeconds ? true : undefined,
    );
  });
} finally {
  sender.kill();
  await Promise.all([withLedger.stop(), without.stop()]);
  rmSync(dir, { recursive: true, force: true });
}

async function measure(passed: (more: number) => Promise<void>): Promise<void> {
  await passed(warmSeconds);
  const beganMs = performance.now();
  const hubs = [withLedger, without];
  const counted = await Promise.all(
    hubs.map(({ url }) => selfMetric(url, "gpulse_received_samples_total")),
  );
  const costs = () => hubs.map(({ process: { pid } }) => processCost(pid).cpuSeconds);
  // Collections of either hub fall into some windows and not into others: the median difference is less affected.
  const plain: number[][] = hubs.map(() => []);
  for (let window = 0; window < windows; window++) {
    const costsBefore = costs();
    await passed(windowSeconds);
    costs().forEach((cost, at) =>
      plain[at]?.push((cost - (costsBefore[at] ?? 0)) * (1_000 / windowSeconds)),
    );
  }
  const frames = (
    await Promise.all(hubs.map(({ url }) => selfMetric(url, "gpulse_received_samples_total")))
  ).map((count, at) => (count - (counted[at] ?? 0)) / (windows * windowSeconds));
  say(
    `${gpus} GPUs in ${gpus / gpusPerMachine} machines, ${windows * windowSeconds} s of frames in ${number((performance.now() - beganMs) / 1_000)} s: ${frames.map(number).join(" and ")} samples a second, ${await selfMetric(withLedger.url, "gpulse_jobs_open")} open jobs`,
  );
  const [on = [], off = []] = plain;
  const differences = on.map((cost, at) => cost - (off[at] ?? 0));
  say(
    `processor time of a second, all threads, medians of ${windows} windows: with the ledger ${number(median(on))} ms, without ${number(median(off))} ms, difference ${number(median(differences))} ms (${differences.map(number).join(", ")}): ${number((100 * median(differences)) / median(on))} % of the hub's`,
  );
  // The profile is a separate measurement, since taking it costs the hubs time as well.
  const pids = hubs.map(({ process: { pid } }) => pid);
  const cpuOf = () => pids.map((pid) => [processCost(pid), processCost(pid, pid)] as const);
  const before = cpuOf();
  for (const pid of pids) process.kill(pid, "SIGUSR2");
  await passed(seconds);
  const after = cpuOf();
  for (const pid of pids) process.kill(pid, "SIGUSR2");
  const profiles: (ProfileShare & { readonly mainMs: number; readonly cpuMs: number })[] = [];
  for (const [at, pid] of pids.entries()) {
    const grown = (of: 0 | 1): number =>
      (((after[at]?.[of].cpuSeconds ?? 0) - (before[at]?.[of].cpuSeconds ?? 0)) * 1_000) / seconds;
    profiles.push({
      ...shareOf(await readProfile(path.join(dir, `profile-${pid}`))),
      cpuMs: grown(0),
      mainMs: grown(1),
    });
  }
  const [own, other] = profiles;
  if (own === undefined || other === undefined) return;
  // Samples are of elapsed time, in which other processes ran too: only their proportions count.
  const scaleOf = ({ mainMs, busyMs }: (typeof profiles)[number]): number => mainMs / busyMs;
  const scale = scaleOf(own);
  const withCollections = own.ledgerMs / (1 - own.collectionMs / own.busyMs);
  say(
    `by profile, a second: all threads ${number(own.cpuMs)} ms (without a ledger ${number(other.cpuMs)}), main thread ${number(own.mainMs)} (${number(other.mainMs)}), collections ${number(own.collectionMs * scale)} (${number(other.collectionMs * scaleOf(other))}), ledger ${number(own.ledgerMs * scale)} ms, with its part of collections ${number(withCollections * scale)} ms: ${number((100 * withCollections * scale) / own.cpuMs)} % of the hub's processor time`,
  );
  for (const [name, ms] of [...own.byFunction].sort(([, x], [, y]) => y - x).slice(0, 40))
    say(`  ${(ms * scale * 1_000).toFixed(0)} µs ${name}`);
  say("functions outside the ledger with the largest differences:");
  const byName = [...new Set([...own.others.keys(), ...other.others.keys()])]
    .map((name) => {
      const [ms, otherMs] = [own.others.get(name) ?? 0, other.others.get(name) ?? 0];
      return { name, ms: ms * scale - otherMs * scaleOf(other) };
    })
    .sort((x, y) => Math.abs(y.ms) - Math.abs(x.ms));
  for (const { name, ms } of byName.slice(0, 20)) say(`  ${(ms * 1_000).toFixed(0)} µs ${name}`);
}

async function readProfile(file: string): Promise<Profile> {
  while (!existsSync(file)) await sleep(500);
  await sleep(2_000);
  return JSON.parse(readFileSync(file, "utf8")) as Profile;
}

interface ProfileShare {
  readonly ledgerMs: number;
  readonly collectionMs: number;
  readonly busyMs: number;
  readonly byFunction: ReadonlyMap<string, number>;
  readonly others: ReadonlyMap<string, number>;
}

/** Function names in a bundle have no files: the source maps beside it provide them. */
function shareOf({ nodes, samples, timeDeltas }: Profile): ProfileShare {
  const maps = new Map<string, SourceMap | undefined>();
  const sourceOf = (url: string, line: number, column: number): string => {
    if (!url.startsWith("file:")) return "";
    if (!maps.has(url)) {
      const file = `${fileURLToPath(url)}.map`;
      const map = existsSync(file) ? readFileSync(file, "utf8") : undefined;
      maps.set(
        url,
        map === undefined ? undefined : new SourceMap(JSON.parse(map) as SourceMapPayload),
      );
    }
    const entry = maps.get(url)?.findEntry(line, column);
    return entry !== undefined && "originalSource" in entry ? entry.originalSource : "";
  };
  const parents = new Map<number, number>();
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id);
  const own = new Map<number, { readonly name: string; readonly isLedger: boolean }>();
  for (const { id, callFrame } of nodes) {
    const { functionName, url, lineNumber, columnNumber } = callFrame;
    const source = sourceOf(url, lineNumber, columnNumber);
    own.set(id, {
      name: `${functionName} ${source.slice(source.indexOf("src/"))}`,
      isLedger: ledgerFiles.test(source),
    });
  }
  const isBelow = (id: number | undefined): boolean =>
    id !== undefined && (own.get(id)?.isLedger === true || isBelow(parents.get(id)));
  let [ledgerMs, collectionMs, busyMs] = [0, 0, 0];
  const [byFunction, others] = [new Map<string, number>(), new Map<string, number>()];
  samples.forEach((id, at) => {
    // A longer one is mostly time in which the thread did not run: the sample after it would count for many.
    const ms = Math.min(timeDeltas[at] ?? 0, 2 * samplingMicros) / 1_000;
    const name = own.get(id)?.name ?? "";
    if (name.startsWith("(idle)")) return;
    busyMs += ms;
    if (name.startsWith("(garbage collector)")) collectionMs += ms;
    const functions = isBelow(id) ? byFunction : others;
    functions.set(name, (functions.get(name) ?? 0) + ms);
    if (functions === byFunction) ledgerMs += ms;
  });
  return { ledgerMs, collectionMs, busyMs, byFunction, others };
}

/** The sum over its labels. */
async function selfMetric(url: string, name: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text();
  let sum = 0;
  for (const [, value] of page.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm")))
    sum += Number(value);
  return sum;
}
