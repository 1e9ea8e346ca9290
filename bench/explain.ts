/**
 * How well `gpulse explain` identifies the cause: `npm run bench:explain`, or `EXPLAIN_SEED=99 npm run bench:explain` with a seed
 * that was not used for tuning. Simulates fleets of 8 to 64 GPUs with every fault at two severities, with two faults at once, and
 * without faults; then measures the cost of an explanation over 64 GPUs and a day. `--gpus 8,16` for fewer fleets, `--list`
 * prints each miss.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { explainSubject } from "../src/hub/explain/explain.ts";
import { resolveSubject } from "../src/hub/explain/subject.ts";
import { faultNames } from "../src/sources/sim/fleet/faults.ts";
import { Random } from "../src/sources/sim/random.ts";
import type { Explanation, SubjectKind } from "../src/view/explain/explanation.ts";
import { startMs } from "./detect-host.ts";
import { type PlannedFault, planFaults } from "./detect-plan.ts";
import { measureCost } from "./explain-cost.ts";
import { type FleetRun, simulateFleet } from "./explain-fleet.ts";
import {
  isFirst,
  isVisible,
  isWithinThree,
  momentOf,
  planPairs,
  truthOf,
} from "./explain-score.ts";
import { say } from "./hub-print.ts";

const { values: given } = parseArgs({
  options: {
    gpus: { type: "string", default: "8,16,32,64" },
    hours: { type: "string", default: "4" },
    list: { type: "boolean", default: false },
    "no-cost": { type: "boolean", default: false },
  },
});
const seed = Number(process.env["EXPLAIN_SEED"] ?? 1_000);
const hours = Number(given.hours);
const fleets = given.gpus.split(",").map(Number);
if (!Number.isInteger(seed) || !(hours > 0) || fleets.some((gpus) => !(gpus > 0))) {
  process.stderr.write("EXPLAIN_SEED is a whole number, --hours and --gpus are numbers.\n");
  process.exit(2);
}
const hourMs = 3_600_000;
/** Healthy hours before the first fault, as the baseline. */
const warmUpMs = 2 * hourMs;
const untilMs = warmUpMs + hours * hourMs;
const everyMs = 5_000;
/** For this long after a fault, its GPU is not used as a healthy example. */
const aftermathMs = 45 * 60_000;
const mix = [
  "MI300X",
  "RTX 4090",
  "RX 7800 XT",
  "MI300X",
  "RTX 4090",
  "RX 7800 XT",
  "MI300X",
  "RTX 4090",
];

const hostsOf = (gpus: number): string[][] =>
  Array.from({ length: Math.ceil(gpus / 8) }, (_, host) =>
    Array.from({ length: Math.min(8, gpus - host * 8) }, (__, gpu) =>
      host % 2 === 0 ? "H200" : (mix[gpu] ?? "H200"),
    ),
  );

interface Tally {
  asked: number;
  first: number;
  three: number;
  hidden: number;
}
const tallies = new Map<string, Tally>();
const tallyOf = (name: string): Tally => {
  let tally = tallies.get(name);
  if (tally === undefined) tallies.set(name, (tally = { asked: 0, first: 0, three: 0, hidden: 0 }));
  return tally;
};
const sound = { asked: 0, quiet: 0 };

async function ask(
  { store }: FleetRun,
  kind: SubjectKind,
  id: string,
  atMs: number,
): Promise<Explanation> {
  const context = { history: store, nowMs: () => startMs + untilMs };
  const resolved = await resolveSubject(context, kind, id, startMs + atMs);
  if ("missing" in resolved) throw new Error(`BUG: ${resolved.missing}`);
  return explainSubject(context, resolved);
}

async function withFleet(
  name: string,
  fleetSeed: number,
  hosts: readonly (readonly string[])[],
  faults: readonly PlannedFault[],
  use: (run: FleetRun) => Promise<void>,
): Promise<void> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-explain-"));
  const began = Date.now();
  const run = await simulateFleet({ dir, seed: fleetSeed, hosts, faults, untilMs, everyMs });
  try {
    await use(run);
    say(`${name}: ${faults.length} faults, ${((Date.now() - began) / 1_000).toFixed(0)} s`);
  } finally {
    await run.store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

const isActive = ({ atMs, forMs }: PlannedFault, at: number, afterMs = 0): boolean =>
  at >= atMs && at < atMs + forMs + afterMs;

/** Queries each fault at a time in its second half; other faults of the GPU at that time are correct results too. */
async function askFaults(
  run: FleetRun,
  form: string,
  hosts: readonly (readonly string[])[],
  faults: readonly PlannedFault[],
  random: Random,
): Promise<void> {
  for (const fault of faults) {
    if (!fault.matters) continue;
    const at = momentOf(fault, random);
    const all = [tallyOf(`${form}: ${fault.fault}`), tallyOf(form), tallyOf("all")];
    if (!isVisible(run, fault, at)) {
      for (const tally of all) tally.hidden += 1;
      continue;
    }
    const isHost = fault.gpu < 0;
    const id = isHost ? run.hostNames[fault.host] : run.uuids[fault.host]?.[fault.gpu];
    if (id === undefined) continue;
    const explanation = await ask(run, isHost ? "host" : "gpu", id, at);
    const truth = (one: PlannedFault) => ({
      cause: truthOf(one, hosts[one.host] ?? []),
      uuid: isHost ? undefined : id,
    });
    const others = faults.filter(
      (one) =>
        one !== fault &&
        !isHost &&
        one.host === fault.host &&
        (one.gpu === fault.gpu || one.gpu < 0) &&
        isActive(one, at, one.fault === "xid" ? 20 * 60_000 : 0),
    );
    const first = isFirst({ truths: [fault, ...others].map(truth), explanation });
    const three = isWithinThree({ truths: [truth(fault)], explanation });
    for (const tally of all) {
      tally.asked += 1;
      tally.first += Number(first);
      tally.three += Number(three);
    }
    if (given.list && !(first && three))
      say(
        `missed (${form}): ${JSON.stringify(fault)} at ${at / 1_000} s: ${explanation.causes.map(({ cause, confidence }) => `${cause} ${confidence}`).join(", ") || explanation.outcome}`,
      );
  }
}

async function askSound(
  run: FleetRun,
  hosts: readonly (readonly string[])[],
  faults: readonly PlannedFault[],
  random: Random,
  times: number,
): Promise<void> {
  for (let time = 0; time < times; time++) {
    const at = Math.round(random.between(warmUpMs, untilMs - 1_000) / 1_000) * 1_000;
    const host = random.below(hosts.length);
    const gpu = random.below(hosts[host]?.length ?? 1);
    const isHost = time % 4 === 3;
    const isFaulty = faults.some(
      (one) =>
        one.host === host &&
        (isHost || one.gpu === gpu || one.gpu < 0) &&
        isActive(one, at, aftermathMs),
    );
    const id = isHost ? run.hostNames[host] : run.uuids[host]?.[gpu];
    if (isFaulty || id === undefined) continue;
    const { outcome, causes, subject } = await ask(run, isHost ? "host" : "gpu", id, at);
    sound.asked += 1;
    if (outcome === "nothing_stands_out") sound.quiet += 1;
    else if (given.list)
      say(
        `false: ${subject.label} at ${at / 1_000} s: ${causes.map(({ summary }) => summary).join(" ")}`,
      );
  }
}

say(
  `seed ${seed}, fleets of ${fleets.join(", ")} GPUs, ${hours} h each after ${warmUpMs / hourMs} h without faults\n`,
);
for (const [at, gpus] of fleets.entries()) {
  const hosts = hostsOf(gpus);
  const own = seed + at * 101;
  const random = new Random(own, "explain");
  const plan = { seed: own, hosts, fromMs: warmUpMs, untilMs };
  for (const severity of [1, 0.5]) {
    const faults = planFaults({ ...plan, severity });
    await withFleet(`${gpus} GPUs, severity ${severity}`, own, hosts, faults, async (run) => {
      await askFaults(run, `severity ${severity}`, hosts, faults, random);
    });
  }
  const pairs = planPairs(planFaults({ ...plan, seed: own + 1, severity: 1 }), hosts, random);
  await withFleet(`${gpus} GPUs, two at once`, own + 1, hosts, pairs, async (run) => {
    await askFaults(run, "two at once", hosts, pairs, random);
  });
  await withFleet(`${gpus} GPUs, no faults`, own + 2, hosts, [], async (run) => {
    await askSound(run, hosts, [], random, 60);
  });
}

const share = (part: number, whole: number): string =>
  whole === 0 ? "-" : `${((100 * part) / whole).toFixed(1)} %`;
say("\n| faults | asked | true cause first | within the first three | without a trace |");
say("|---|---|---|---|---|");
const order = [
  ...["severity 1", "severity 0.5", "two at once"].flatMap((form) => [
    ...faultNames.map((fault) => `${form}: ${fault}`),
    form,
  ]),
  "all",
];
for (const name of order) {
  const tally = tallies.get(name);
  if (tally === undefined) continue;
  const { asked, first, three, hidden } = tally;
  say(`| ${name} | ${asked} | ${share(first, asked)} | ${share(three, asked)} | ${hidden} |`);
}
say(
  `\nHours without faults: "nothing stands out" in ${share(sound.quiet, sound.asked)} of ${sound.asked} questions.`,
);
if (!given["no-cost"]) await measureCost();
