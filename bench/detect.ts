/**
 * How well the default rules, the anomaly watch and the health verdict detect faults: `npm run bench:detect -- --seed 7 --hours
 * 24 --severity 1`. Simulates hours with faults of every kind, and as many without; prints recall and time to detection per kind,
 * the state and action of each fault, and false alarms per GPU and week. `--gpus 16`, `--severity 1,0.5,0.25` for a row each,
 * `--list` prints every miss and false alarm.
 * `--scrape 15` repeats it with hosts that are scraped every 15 s, `--exporter gpulse,dcgm,dcgm-default` with the fields of each
 * of these exporters (`bench/detect-fields.ts`), `--no-push` runs only that. `--faults-only` omits the hours without faults.
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { faultNames } from "../src/sources/sim/fleet/faults.ts";
import { findModel } from "../src/sources/sim/models/index.ts";
import { planFaults, type PlannedFault } from "./detect-plan.ts";
import type { Alarm } from "./detect-log.ts";
import { startMs } from "./detect-host.ts";
import { type DetectionRun, type DetectionRunOptions, run } from "./detect-run.ts";
import { isHidden, type Score, score, type ScoredFault } from "./detect-score.ts";
import { judgeRecording } from "./detect-recorded.ts";
import type { FaultVerdict } from "./detect-verdict.ts";
import { hidingReason, scrapedExporters } from "./detect-fields.ts";
import type { ScrapeOptions } from "./detect-scrape.ts";
import { quantile, say } from "./hub-print.ts";

const { values: given } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    hours: { type: "string", default: "24" },
    severity: { type: "string", default: "1" },
    gpus: { type: "string", default: "16" },
    "no-rules": { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    scrape: { type: "string" },
    "no-push": { type: "boolean", default: false },
    "faults-only": { type: "boolean", default: false },
    exporter: { type: "string", default: "gpulse" },
  },
});
const hourMs = 3_600_000;
/** The watch observes healthy GPUs for this long before counting starts, as after an installation. */
const warmUpMs = hourMs;
const hoursPerWeek = 168;

const seed = whole("seed", given.seed, 0, Number.MAX_SAFE_INTEGER);
const hours = amount("hours", given.hours, 0.5, 24 * 31);
const gpuCount = whole("gpus", given.gpus, 4, 512);
const scrapes = readScrapes();
const severities = given.severity.split(",").map((text) => amount("severity", text, 0.01, 2));

function amount(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= low && value <= high) return value;
  process.stderr.write(`--${name} takes a number from ${low} to ${high}, not "${text}".\n`);
  process.exit(2);
}

function readScrapes(): readonly ScrapeOptions[] {
  const exporters = given.exporter.split(",").map((text) => {
    const exporter = scrapedExporters.find((name) => name === text.trim());
    if (exporter !== undefined) return exporter;
    process.stderr.write(`--exporter takes ${scrapedExporters.join(", ")}, not "${text}".\n`);
    return process.exit(2);
  });
  const { scrape } = given;
  if (scrape === undefined) return [];
  const everyMs = whole("scrape", scrape, 1, 300) * 1_000;
  return exporters.map((exporter) => ({ everyMs, exporter }));
}

function whole(name: string, text: string, low: number, high: number): number {
  const value = amount(name, text, low, high);
  if (Number.isInteger(value)) return value;
  process.stderr.write(`--${name} takes a whole number, not "${text}".\n`);
  process.exit(2);
}

/** Every other host has only H200 cards, the ones between a mix of cards with and without fans. */
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
const hosts = Array.from({ length: Math.ceil(gpuCount / 8) }, (_, host) =>
  Array.from({ length: Math.min(8, gpuCount - host * 8) }, (__, gpu) =>
    host % 2 === 0 ? "H200" : (mix[gpu] ?? "H200"),
  ),
);

const uuidsOf = new Map<string, number>();

async function simulate(
  what: string,
  options: Omit<DetectionRunOptions, "progress" | "seed" | "hosts" | "noRules">,
  from: number,
): Promise<DetectionRun> {
  const began = Date.now();
  const shows = process.stderr.isTTY;
  const progress = (doneMs: number): void => {
    if (shows)
      process.stderr.write(`\r${what}: ${Math.round((100 * doneMs) / options.untilMs)} % `);
  };
  const done = await run({ ...options, hosts, seed: from, noRules: given["no-rules"], progress });
  if (shows) process.stderr.write("\r\u001b[K");
  say(
    `${what}: ${((options.untilMs / hourMs) * gpuCount).toFixed(0)} GPU-hours simulated in ${((Date.now() - began) / 1_000).toFixed(0)} s`,
  );
  done.uuids.flat().forEach((uuid, index) => uuidsOf.set(uuid, index));
  for (const failed of done.failedRules) say(`rule failed: ${failed}`);
  return done;
}

const untilMs = warmUpMs + hours * hourMs;
say(
  `seed ${seed}, ${gpuCount} GPUs on ${hosts.length} hosts, ${hours} hours with faults at each severity, ${given["faults-only"] ? "none" : hours} without, an hour of warm-up before each\n`,
);
interface Form {
  readonly name: string;
  readonly scrape?: ScrapeOptions;
}

interface FormResult {
  readonly name: string;
  /** The result of the hours without faults. */
  readonly sound: { readonly score: Score; readonly run: DetectionRun } | undefined;
  readonly scores: readonly {
    readonly severity: number;
    readonly score: Score;
    readonly run: DetectionRun;
  }[];
}

const forms: readonly Form[] = [
  ...(given["no-push"] ? [] : [{ name: "pushed every second" }]),
  ...scrapes.map((scrape) => ({
    name: `scraped every ${scrape.everyMs / 1_000} s, ${scrape.exporter}`,
    scrape,
  })),
];
const results: FormResult[] = [];
for (const form of forms) results.push(await measure(form));
for (const result of results) {
  if (results.length > 1) say(`\n## ${result.name}`);
  for (const { severity, score: one, run: faulty } of result.scores) {
    table(severity, one);
    verdictTable(severity, faulty);
  }
  if (result.sound !== undefined) withoutFaults(result.sound);
}
recorded();
comparison();

async function measure({ name, ...options }: Form): Promise<FormResult> {
  const shared = { untilMs, fromMs: warmUpMs, ...options };
  const whyNotReported = ({ fault, host, gpu }: PlannedFault): string | undefined =>
    hidingReason(options.scrape?.exporter, fault, findModel(hosts[host]?.[gpu] ?? "")?.vendor);
  const soundRun = given["faults-only"]
    ? undefined
    : await simulate(`${name}, without faults`, { faults: [], ...shared }, seed + 1_000_003);
  const scores: FormResult["scores"][number][] = [];
  for (const severity of severities) {
    const faults = planFaults({ seed, hosts, fromMs: warmUpMs, untilMs, severity });
    const faulty = await simulate(
      `${name}, severity ${severity}, ${faults.length} faults`,
      { faults, ...shared },
      seed,
    );
    scores.push({ severity, score: score(faulty, faults, warmUpMs, whyNotReported), run: faulty });
  }
  const sound = soundRun && { score: score(soundRun, [], warmUpMs), run: soundRun };
  return { name, sound, scores };
}

/** One row per form and severity. */
function comparison(): void {
  say("\n## Side by side\n");
  say(
    "| data | severity | faults | found | recall | not in its fields | recall of the others | median | false alarms a GPU-week | verdicts right |",
  );
  say("|---|---|---|---|---|---|---|---|---|---|");
  const gpuWeeks = ((given["faults-only"] ? 1 : 2) * hours * gpuCount) / hoursPerWeek;
  for (const { name, sound, scores } of results)
    for (const { severity, score: one, run: faulty } of scores) {
      const counted = one.judged.filter(({ fault, hidden }) => fault.matters && !hidden);
      const found = counted.filter(({ by }) => by !== undefined);
      const shown = counted.filter(({ notReported }) => notReported === undefined);
      const minutes = found.map(({ afterMs }) => (afterMs ?? 0) / 60_000);
      const wrong = (sound?.score.false.length ?? 0) + one.false.length;
      const verdicts = countedVerdicts(faulty);
      say(
        `| ${[
          name,
          severity,
          counted.length,
          found.length,
          (found.length / counted.length).toFixed(3),
          counted.length - shown.length,
          (shown.filter(({ by }) => by !== undefined).length / shown.length).toFixed(3),
          minutes.length === 0 ? "" : `${quantile(minutes, 0.5).toFixed(1)} min`,
          (wrong / gpuWeeks).toFixed(2),
          `${verdicts.filter(isRight).length} of ${verdicts.length}`,
        ].join(" | ")} |`,
      );
    }
}

function table(severity: number, { judged, false: wrong, others }: Score): void {
  say(`\n### Severity ${severity}\n`);
  say(
    "| fault | injected | hidden | too small | to find | not in its fields | found | recall | median | p95 | first reported by |",
  );
  say("|---|---|---|---|---|---|---|---|---|---|---|");
  for (const fault of faultNames)
    row(
      fault,
      judged.filter((one) => one.fault.fault === fault),
    );
  row("**all**", judged);
  const reasons = new Set(
    judged.flatMap(({ fault, notReported }) =>
      notReported === undefined ? [] : [`${fault.fault}: ${notReported}`],
    ),
  );
  for (const reason of reasons) say(`\nNot in the exporter's fields: ${reason}.`);
  const gpuWeeks = (hours * gpuCount) / hoursPerWeek;
  say(
    `\nAlarms of GPUs that nothing ailed, in the hours with faults: ${wrong.length}, ${(wrong.length / gpuWeeks).toFixed(2)} a GPU-week. Further alarms of ailing GPUs: ${others.length}.`,
  );
  if (!given.list) return;
  for (const one of judged.filter(({ by }) => by === undefined))
    say(
      `missed${one.hidden ? " (hidden)" : ""}${one.fault.matters ? "" : " (too small)"}: ${JSON.stringify(one.fault)}`,
    );
  for (const alarm of wrong) say(`false: ${describe(alarm)}`);
  for (const alarm of others) say(`other: ${describe(alarm)}`);
}

function row(name: string, judged: readonly ScoredFault[]): void {
  if (judged.length === 0) return;
  // Hidden and small faults are omitted whether detected or not: counting only the detected ones would be too favourable.
  const hidden = judged.filter((one) => one.hidden);
  const small = judged.filter((one) => !one.fault.matters && !one.hidden);
  const counted = judged.filter((one) => one.fault.matters && !one.hidden);
  const found = counted.filter(({ by }) => by !== undefined);
  const unseen = counted.filter(({ notReported }) => notReported !== undefined).length;
  const minutes = found.map(({ afterMs }) => (afterMs ?? 0) / 60_000);
  const by = new Map<string, number>();
  for (const one of found) by.set(one.by?.name ?? "", (by.get(one.by?.name ?? "") ?? 0) + 1);
  const reported = [...by]
    .sort((left, right) => right[1] - left[1])
    .map(([alert, count]) => `${alert} ${count}`)
    .join(", ");
  const minute = (share: number): string =>
    minutes.length === 0 ? "" : `${quantile(minutes, share).toFixed(1)} min`;
  const recall = counted.length === 0 ? "" : (found.length / counted.length).toFixed(3);
  say(
    `| ${[name, judged.length, hidden.length, small.length, counted.length, unseen, found.length, recall, minute(0.5), minute(0.95), name === "**all**" ? "" : reported].join(" | ")} |`,
  );
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function countedVerdicts(faulty: DetectionRun): readonly FaultVerdict[] {
  return faulty.verdicts.filter(({ fault }) => fault.matters && !isHidden(faulty, fault));
}

function isRight({ worst, expected }: FaultVerdict): boolean {
  return worst !== undefined && expected.includes(worst);
}

/** Every fault, and every Xid by number, with the states and actions that it led to. */
function verdictTable(severity: number, faulty: DetectionRun): void {
  const counted = countedVerdicts(faulty);
  const kinds = groupBy(counted, ({ fault }) =>
    fault.fault === "xid" ? `xid ${fault.amount ?? ""}` : fault.fault,
  );
  say(`\n### Verdicts at severity ${severity}\n`);
  say("| fault | judged | right | state and action expected | seen | median |");
  say("|---|---|---|---|---|---|");
  for (const [kind, own] of [...kinds].sort(([left], [right]) => left.localeCompare(right))) {
    const seen = groupBy(own, ({ worst }) => worst ?? "none");
    const seenText = [...seen].map(([pair, list]) => `${pair} ${list.length}`).join(", ");
    const minutes = own.flatMap(({ afterMs }) => (afterMs === undefined ? [] : [afterMs / 60_000]));
    const wanted = [...new Set(own.flatMap(({ expected }) => expected))].join(" or ");
    const median = minutes.length === 0 ? "" : `${quantile(minutes, 0.5).toFixed(1)} min`;
    say(
      `| ${[kind, own.length, own.filter(isRight).length, wanted, seenText, median].join(" | ")} |`,
    );
  }
  const right = counted.filter(isRight).length;
  say(`| **all** | ${counted.length} | ${right} | | | |`);
  say(
    `\nfailing or lost on GPUs that nothing ailed, in the hours with faults: ${faulty.falseVerdicts.length}.`,
  );
  if (!given.list) return;
  for (const one of counted.filter((verdict) => !isRight(verdict)))
    say(
      `verdict: ${one.worst ?? "none"} (${one.reasons.join(", ")}) for ${JSON.stringify(one.fault)}`,
    );
  for (const one of faulty.falseVerdicts) say(`false verdict: ${JSON.stringify(one)}`);
}

function withoutFaults({ score: sound, run: soundRun }: NonNullable<FormResult["sound"]>): void {
  const gpuWeeks = (hours * gpuCount) / hoursPerWeek;
  say(`\n### ${hours} hours without faults\n`);
  say(
    `False alarms: ${sound.false.length} in ${gpuWeeks.toFixed(2)} GPU-weeks, ${(sound.false.length / gpuWeeks).toFixed(2)} a GPU-week.`,
  );
  say(
    `False failing or lost: ${soundRun.falseVerdicts.length} in ${gpuWeeks.toFixed(2)} GPU-weeks.`,
  );
  for (const { reasons, uuid } of soundRun.falseVerdicts.slice(0, 10))
    say(`- ${uuid}: ${reasons.join(", ")}`);
  for (const alarm of sound.false.slice(0, given.list ? 1_000 : 10)) say(`- ${describe(alarm)}`);
}

function recorded(): void {
  say("\n### Recorded traces of a real H200\n");
  for (const folder of ["h200-first", "h200-mixed", "h200-unseen", "h200-bursts", "h200-ramps"]) {
    const captures = new URL("../src/sources/sim/captures/", import.meta.url);
    const { seconds, states } = judgeRecording(fileURLToPath(new URL(folder, captures)));
    const byState = Object.entries(states).map(([state, count]) => `${state} ${count} s`);
    say(`- ${folder}, ${seconds} s: ${byState.join(", ")}`);
  }
}

function describe({ name, host, uuid, firstMs, says }: Alarm): string {
  const at = uuidsOf.get(uuid ?? "");
  const gpu = at === undefined ? "" : ` GPU ${at % 8} ${hosts.flat()[at] ?? ""}`;
  return `${((firstMs - startMs) / 60_000).toFixed(1)} min ${name} ${host ?? ""}${gpu}: ${says}`;
}
