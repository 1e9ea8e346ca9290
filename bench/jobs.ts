/**
 * The cost of the job ledger relative to a hub's other work on the same frames, and the time of a month's bill:
 * `npx tsx bench/jobs.ts [GPUS] [cost|bill]`, 2,000 and both by default, in machines of 8, one frame per second. Decoding and HTTP are not counted as
 * the hub's other work, so the printed share is an upper bound.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { silentLog } from "../src/base/log.ts";
import { HubJobs, type HubJobsOptions } from "../src/hub/jobs/jobs.ts";
import { JobQueries } from "../src/hub/jobs/query.ts";
import { AnomalyWatch } from "../src/lake/analyses/anomaly/watch.ts";
import { identityOf } from "../src/model/identity.ts";
import { tierIntervals } from "../src/pipeline/poller.ts";
import { dayOf, type JobHour } from "../src/runs/jobs/record.ts";
import { parseTariff } from "../src/runs/jobs/tariff.ts";
import { Emitter } from "../src/sources/sim/emit/emitter.ts";
import { SimFleet } from "../src/sources/sim/fleet/fleet.ts";
import { loadScenario } from "../src/sources/sim/scenario/load.ts";
import { openStore } from "../src/storage/embedded/store.ts";
import { HealthWatch } from "../src/view/health/watch.ts";
import { number, say } from "./hub-print.ts";

const gpus = Number(process.argv[2] ?? "2000");
const only = process.argv[3];
const [perMachine, warmSeconds, seconds] = [8, 120, 240];
const startMs = Date.UTC(2026, 0, 5);
const dir = mkdtempSync(path.join(tmpdir(), "gpulse-jobs-bench-"));
let nowMs = startMs;

if (only !== "bill") await measureCost();
if (only !== "cost") await measureBill();
rmSync(dir, { recursive: true, force: true });

async function measureCost(): Promise<void> {
  const store = await openStore({
    dir: path.join(dir, "store"),
    retentionMs: 86_400_000,
    memoryBytes: 256 * 2 ** 20,
    durability: "process",
    log: silentLog,
    nowMs: () => nowMs,
    workerFile: false,
    manual: true,
  });
  const [anomalies, health] = [new AnomalyWatch(), new HealthWatch({ acceptsVerdicts: true })];
  const jobs = openJobs(path.join(dir, "cost"), ({ key }) => anomalies.activeKindsOf(key));
  const scenario = loadScenario("default");
  const machines = Array.from({ length: gpus / perMachine }, (_, at) => {
    const host = `node${at}`;
    const options = { seed: at + 1, owner: host, gpus: perMachine, model: undefined };
    const fleet = new SimFleet(scenario, options, startMs);
    return { host, fleet, emitter: new Emitter(fleet, host), identity: identityOf(host) };
  });
  const every = tierIntervals(1_000);
  const spent = { ledger: 0, store: 0, anomalies: 0, health: 0 };
  for (let second = 0; second < warmSeconds + seconds; second++) {
    nowMs = startMs + second * 1_000;
    const deliveries = machines.flatMap(({ host, fleet, emitter, identity }) => {
      fleet.advanceTo(second * 1_000);
      return (["static", "slow", "fast"] as const)
        .filter((tier) => (second * 1_000) % every[tier] === 0)
        .map((tier) => ({
          identity,
          delivery: {
            frame: emitter.frame(tier, nowMs, (virtualMs) => virtualMs),
            source: host,
            tier,
            freshForMs: 5_000,
            devices: fleet.devices,
            host,
          },
        }));
    });
    const works = {
      store: ({ delivery, identity }: (typeof deliveries)[number]) =>
        void store.appendFrame(delivery, identity),
      anomalies: ({ delivery }: (typeof deliveries)[number]) => anomalies.take(delivery),
      health: ({ delivery }: (typeof deliveries)[number]) => health.take(delivery),
      ledger: ({ delivery }: (typeof deliveries)[number]) => jobs.take(delivery),
    };
    for (const name of ["store", "anomalies", "health", "ledger"] as const) {
      // Measures all frames of a second at once: reading the processor time costs 20 µs, as much as a frame.
      const before = process.cpuUsage();
      deliveries.forEach(works[name]);
      const { user, system } = process.cpuUsage(before);
      if (second >= warmSeconds) spent[name] += (user + system) / 1_000;
    }
  }
  const perSecond = (ms: number): string => `${number(ms / seconds)} ms`;
  const total = spent.ledger + spent.store + spent.anomalies + spent.health;
  say(
    `${gpus} GPUs in ${machines.length} machines, processor time of one second of frames: store ${perSecond(spent.store)}, anomalies ${perSecond(spent.anomalies)}, health ${perSecond(spent.health)}, job ledger ${perSecond(spent.ledger)}: ${number((100 * spent.ledger) / total)} % of these`,
  );
  say(`open jobs: ${jobs.ledger.openCount}`);
  jobs.close();
  await store.close();
}

async function measureBill(): Promise<void> {
  const jobs = openJobs(path.join(dir, "bill"));
  let count = 0;
  // Jobs of eight GPUs and six hours, all day long.
  for (let day = 0; day < 30; day++) {
    const parts = [];
    for (let at = 0; at < (gpus / 8) * 4; at++) {
      const first = (startMs + day * 86_400_000) / 3_600_000 + (at % 4) * 6;
      const hours = Array.from({ length: 6 }, (_, hour): JobHour => [
        first + hour,
        28_800,
        20_000,
        8_800,
        1.5e7,
      ]);
      const id = `slurm:lab/${++count}@${first * 3_600}`;
      const part = {
        id,
        name: "train",
        kind: "slurm",
        user: `user${at % 90}`,
        account: `a${at % 12}`,
        hours,
      } as const;
      parts.push({ day: dayOf(startMs + day * 86_400_000), part });
    }
    jobs.files.write({ jobs: [], parts, books: [] });
  }
  jobs.files.close();
  const queries = new JobQueries(jobs, () => nowMs);
  const price = parseTariff("0.32 22-6=0.21", "Europe/Berlin");
  const options = {
    by: "account",
    fromMs: startMs,
    toMs: startMs + 30 * 86_400_000,
    price,
  } as const;
  for (const which of ["first", "second"]) {
    const [before, cpuBefore] = [performance.now(), process.cpuUsage()];
    const lines = await queries.bill(options);
    const tookMs = performance.now() - before;
    const { user, system } = process.cpuUsage(cpuBefore);
    const gpuHours = lines.reduce((sum, line) => sum + line.gpuSeconds, 0) / 3_600;
    say(
      `bill of 30 days, ${number(count)} jobs, ${number(gpuHours)} GPU-hours, ${lines.length} accounts, ${which} time: ${number(tookMs)} ms, ${number((user + system) / 1_000)} ms of processor time`,
    );
  }
  jobs.close();
}

function openJobs(dataDir: string, anomaliesOf?: HubJobsOptions["anomaliesOf"]): HubJobs {
  return new HubJobs({
    anomaliesOf,
    dataDir,
    retentionMs: 1e15,
    log: silentLog,
    nowMs: () => nowMs,
    trustedNowMs: () => nowMs,
  });
}
