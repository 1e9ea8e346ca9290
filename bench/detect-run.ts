/**
 * Simulates hours in virtual time through the parts of a hub: the pipeline's transforms, the store, the anomaly watch, and the
 * default rules in the rule engine. Returns every alarm, and when each GPU was under load.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { packGroups } from "../src/alerting/pack/pack.ts";
import type { RuleContext } from "../src/alerting/rules/context.ts";
import { RuleGroupRunner } from "../src/alerting/rules/group.ts";
import type { RuleGroup } from "../src/alerting/rules/types.ts";
import { AnomalySeries } from "../src/lake/analyses/anomaly/series.ts";
import { AnomalyWatch } from "../src/lake/analyses/anomaly/watch.ts";
import { silentLog } from "../src/base/log.ts";
import type { SampleBatch } from "../src/formats/samples/batch.ts";
import { BatchBuilder } from "../src/formats/samples/builder.ts";
import { identityOf } from "../src/model/identity.ts";
import { labelSet, type LabelSet } from "../src/model/labels.ts";
import { SharedSelects } from "../src/query/shared-selects.ts";
import { openStore } from "../src/storage/embedded/store.ts";
import { type Alarm, AlarmLog, type Exposure, Exposures } from "./detect-log.ts";
import { Host, secondMs, startMs } from "./detect-host.ts";
import type { PlannedFault } from "./detect-plan.ts";
import { type ScrapedFrame, ScrapedHost, type ScrapeOptions } from "./detect-scrape.ts";
import { type FalseVerdict, type FaultVerdict, VerdictLog } from "./detect-verdict.ts";

export interface DetectionRun {
  readonly alarms: readonly Alarm[];
  readonly exposure: ReadonlyMap<PlannedFault, Exposure>;
  readonly uuids: readonly (readonly string[])[];
  readonly hostNames: readonly string[];
  readonly failedRules: ReadonlySet<string>;
  readonly verdicts: readonly FaultVerdict[];
  /** `failing` and `lost` verdicts of GPUs without a fault. */
  readonly falseVerdicts: readonly FalseVerdict[];
}

export interface DetectionRunOptions {
  readonly seed: number;
  readonly hosts: readonly (readonly string[])[];
  readonly faults: readonly PlannedFault[];
  readonly untilMs: number;
  /** Verdicts count from this time on. */
  readonly fromMs?: number;
  /** Disables the default rules: only anomalies, reported as they begin. */
  readonly noRules?: boolean;
  /** The hosts are scraped; otherwise they push every frame, at every step. */
  readonly scrape?: ScrapeOptions;
  /** Time between two readings, one second if absent; rules are evaluated at most that often. */
  readonly stepMs?: number;
  /** Only the default rules of this group. */
  readonly group?: string | undefined;
  /** Includes rules of severity info. */
  readonly withInfo?: boolean;
  readonly progress: (doneMs: number, alarms: readonly Alarm[]) => void;
}

const seriesEveryMs = 15_000;
const verdictEveryMs = 5_000;
const maintainEveryMs = 30 * 60_000;

export async function run(options: DetectionRunOptions): Promise<DetectionRun> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-detect-"));
  let nowMs = startMs;
  const stepMs = options.stepMs ?? secondMs;
  const store = await openStore({
    dir,
    // One rule compares with the week before.
    retentionMs: Math.max(6 * 3_600_000, options.untilMs),
    memoryBytes: 128 * 2 ** 20,
    durability: "process",
    log: silentLog,
    nowMs: () => nowMs,
    workerFile: false,
    manual: true,
  });
  const context: RuleContext = {
    history: store,
    write: (batch) => store.write(batch),
    send: () => {},
    externalLabels: new Map(),
    externalUrl: "http://hub",
    resendMs: 60_000,
    queryOffsetMs: 0,
    log: silentLog,
  };
  const hosts = options.hosts.map(
    (models, at) =>
      new Host(
        `host-${at + 1}`,
        models,
        options.seed + at * 7_919,
        options.faults.filter(({ host }) => host === at),
      ),
  );
  const { scrape } = options;
  const scraped =
    scrape === undefined ? undefined : hosts.map((host) => new ScrapedHost(host, scrape));
  const feeds: readonly { at(elapsedMs: number): readonly ScrapedFrame[] }[] = scraped ?? hosts;
  const groups =
    options.noRules === true
      ? []
      : (await packGroups())
          .filter(isForAlerts)
          .filter(({ name }) => name === (options.group ?? name))
          .map((group) => (options.withInfo === true ? group : withoutInfo(group)))
          .map((group) => new RuleGroupRunner(group, 15_000, false));
  const watch = new AnomalyWatch();
  const series = new AnomalySeries();
  const book = new AlarmLog();
  const exposures = new Exposures(options.faults);
  const verdicts = new VerdictLog(hosts, options.faults);
  if (options.noRules === true)
    watch.subscribe(({ change, anomaly: { kind, severity, device, toldMs: reportedMs, says } }) => {
      if (change === "began")
        book.add(`GpuAnomaly/${kind}`, severity, device.host, device.uuid, reportedMs, says);
    });
  let reported: string[] = [];
  watch.subscribe(({ anomaly }) => reported.push(anomaly.says));
  try {
    for (let elapsedMs = 0; elapsedMs < options.untilMs; elapsedMs += stepMs) {
      nowMs = startMs + elapsedMs;
      for (const [at, { name }] of hosts.entries()) {
        for (const [tier, frame, exporter = "agent"] of feeds[at]?.at(elapsedMs) ?? []) {
          watch.take({ frame });
          verdicts.take(frame);
          if (options.noRules !== true)
            await store.writeFrame(
              { frame, source: `${exporter}/${name}`, tier },
              scraped?.[at]?.identity ?? identityOf(name),
            );
        }
        const { identity, up } = scraped?.[at] ?? {};
        if (options.noRules !== true && identity !== undefined && up !== undefined)
          await store.write(upBatch(identity, nowMs, up));
      }
      exposures.look(
        elapsedMs,
        hosts.map(({ fleet }) => fleet),
      );
      if (elapsedMs % 300_000 === 0) options.progress(elapsedMs, book.alarms);
      if (elapsedMs % verdictEveryMs === 0)
        verdicts.look(elapsedMs, watch.active(), options.fromMs ?? 0);
      if (options.noRules === true || elapsedMs % Math.max(5_000, stepMs) !== 0) continue;
      for (const { host, frame } of verdicts.frames(nowMs))
        await store.writeFrame({ frame, source: `health/${host}`, tier: "slow" }, identityOf(host));
      if (elapsedMs % seriesEveryMs === 0 || reported.length > 0) {
        for (const { host, frame } of series.byHost(nowMs, watch))
          await store.writeFrame(
            { frame, source: `anomalies/${host}`, tier: "fast" },
            identityOf(host),
          );
        reported = [];
      }
      // Other exporters report no self metrics of gpulse's sources.
      if (elapsedMs % seriesEveryMs === 0 && (scrape?.exporter ?? "gpulse") === "gpulse")
        for (const host of hosts)
          await store.writeFrame(
            { frame: host.selfFrame(nowMs), source: `self/${host.name}`, tier: "self" },
            identityOf(host.name),
          );
      const selects = new SharedSelects();
      for (const group of groups) {
        if (nowMs % Math.max(stepMs, group.intervalMs) !== 0) continue;
        await group.evaluate(nowMs, context, { selects });
        book.take(group, nowMs);
      }
      if (elapsedMs % maintainEveryMs === 0) await store.maintain();
    }
  } finally {
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  }
  return {
    alarms: book.alarms,
    exposure: exposures.all(),
    uuids: hosts.map(({ fleet }) => fleet.devices.map(({ uuid }) => uuid)),
    hostNames: hosts.map(({ name }) => name),
    failedRules: book.failed,
    verdicts: verdicts.verdicts(),
    falseVerdicts: verdicts.false,
  };
}

function upBatch(identity: LabelSet, timeMs: number, up: boolean): SampleBatch {
  const builder = new BatchBuilder();
  const labels = labelSet({ ...Object.fromEntries(identity), __name__: "up" });
  builder.add(builder.series(labels), timeMs, Number(up));
  return builder.finish();
}

/** Recording rules for dashboards fire no alerts, and cost a quarter of the time. */
const isForAlerts = ({ name }: RuleGroup): boolean => !name.startsWith("gpulse-fleet");

/** Informational alerts are not alarms; omitting them saves most of the evaluation. */
function withoutInfo(group: RuleGroup): RuleGroup {
  return {
    ...group,
    rules: group.rules.filter(
      (rule) => rule.kind === "record" || rule.labels["severity"] !== "info",
    ),
  };
}
