/** One watched GPU: its readings, blocks, detectors and reported anomalies. Needs a few kilobytes, however long it runs. */
import {
  type Anomaly,
  type AnomalyChange,
  type AnomalyDevice,
  type AnomalyKind,
  type Evidence,
  kindFacts,
} from "./anomaly.ts";
import { ReadingBlocks } from "./block.ts";
import { ClockDetector } from "./detectors/clock.ts";
import { CoolingDetector } from "./detectors/cooling.ts";
import type { Detector, Detection, DetectorContext } from "./detectors/detector.ts";
import { FanDetector } from "./detectors/fan.ts";
import { LinkDetector } from "./detectors/link.ts";
import { MemoryLeakDetector } from "./detectors/memory.ts";
import { PowerSpikeDetector } from "./detectors/power-spike.ts";
import { StragglerDetector } from "./detectors/straggler.ts";
import { TemperatureSpikeDetector } from "./detectors/temperature-spike.ts";
import { Episode } from "./episode.ts";
import type { Peers } from "./peers.ts";
import { type PlannedDevice, Readings } from "./readings.ts";

/** Assumed for cards that report no limit, until one of the same model draws more. */
const usualLimitWatts = 300;
/** The scale then grows in steps: what was learned as a share of the power scale is valid while the scale is unchanged. */
const scaleStep = 1.25;

interface WatchedDetector<Kind> {
  readonly detector: Kind;
  readonly episode: Episode;
  evidence: Evidence | undefined;
}

const watched = <Kind extends { readonly times: Detector["times"] }>(
  detector: Kind,
): WatchedDetector<Kind> => ({
  detector,
  episode: new Episode(detector.times),
  evidence: undefined,
});

const noKinds: readonly AnomalyKind[] = [];

export class AnomalyDeviceWatch {
  readonly readings = new Readings();
  readonly #plan: PlannedDevice;
  readonly #peers: Peers;
  readonly #blocks = new ReadingBlocks();
  readonly #cooling = new CoolingDetector();
  readonly #spike = watched(new PowerSpikeDetector());
  readonly #watched: readonly WatchedDetector<Detector>[];
  #around: DetectorContext | undefined;
  /** When its power was last reported. */
  lastMs = Number.NEGATIVE_INFINITY;
  /** When it last reported. */
  heardMs = Number.NEGATIVE_INFINITY;

  constructor(plan: PlannedDevice, peers: Peers) {
    this.#plan = plan;
    this.#peers = peers;
    const cooling = watched<Detector>(this.#cooling);
    // The fan precedes the heat that it causes: within a family the first reported anomaly is kept.
    this.#watched = [
      watched<Detector>(new FanDetector()),
      cooling,
      watched<Detector>(new TemperatureSpikeDetector(this.#cooling)),
      watched<Detector>(new ClockDetector()),
      watched<Detector>(new StragglerDetector()),
      watched<Detector>(new MemoryLeakDetector()),
      watched<Detector>(new LinkDetector()),
    ];
  }

  get device(): AnomalyDevice {
    const { uuid, gpu, host, job, instance } = this.#plan;
    return { uuid, gpu, host, job, instance, model: this.readings.model };
  }

  /** The expected temperature at 70 % of the power limit, from the last hours. */
  atLoadCelsius(): number | undefined {
    return this.#cooling.atLoad();
  }

  /** Called at an instant with a power reading, after the readings were updated. */
  beat(timeMs: number, report: (change: AnomalyChange) => void): void {
    if (timeMs <= this.lastMs) return;
    const spanMs = Math.min(30_000, timeMs - this.lastMs);
    this.lastMs = timeMs;
    const mostWatts = this.#peers.mostWatts(
      this.readings.model,
      this.readings.get("powerWatts") ?? 0,
    );
    const around = this.#surroundings(mostWatts);
    const spike = this.#spike;
    const finding = spike.detector.see(timeMs, this.readings, around, spike.episode.suspected);
    // A GPU that recovers from being slow draws more power at once: that ends an anomaly and is not a new one.
    if (!this.#watched.some(({ episode }) => episode.suspected))
      this.#look(spike, spike.detector.kind, timeMs, spanMs, finding, report);
    const limitWatts = this.readings.get("powerLimitWatts") ?? mostWatts;
    const block = this.#blocks.add(timeMs, this.readings, limitWatts);
    if (block === undefined) return;
    for (const one of this.#watched) {
      const held = this.#heldBy(one);
      const seen = one.detector.see(block, around, one.episode.suspected || held);
      // Another detector of its family is active: this one neither learns nor reports.
      if (held) continue;
      this.#look(one, one.detector.kind, block.endMs, block.spanMs, seen, report);
      if (one.episode.active) this.#endOutranked(one.detector.kind, block.endMs, report);
    }
  }

  /** Ends all anomalies: the GPU has not reported for long. */
  end(timeMs: number, report: (change: AnomalyChange) => void): void {
    for (const one of this.#watched) this.#end(one, one.detector.kind, timeMs, report);
    this.#end(this.#spike, this.#spike.detector.kind, timeMs, report);
  }

  /** For the job ledger, which asks for every GPU about once a minute: allocates nothing if there are none. */
  activeKinds(): readonly AnomalyKind[] {
    let kinds: AnomalyKind[] | undefined;
    for (const { detector, episode, evidence } of this.#watched)
      if (episode.active && evidence !== undefined) (kinds ??= []).push(detector.kind);
    const { detector, episode, evidence } = this.#spike;
    if (episode.active && evidence !== undefined) (kinds ??= []).push(detector.kind);
    return kinds ?? noKinds;
  }

  active(): Anomaly[] {
    return [...this.#watched, this.#spike].flatMap(({ detector, episode, evidence }) =>
      episode.active && evidence !== undefined
        ? [this.#anomaly(detector.kind, episode, evidence, undefined)]
        : [],
    );
  }

  #surroundings(mostWatts: number): DetectorContext {
    const { readings } = this;
    const scaleWatts = readings.get("powerLimitWatts") ?? scaleFor(mostWatts);
    if (this.#around?.scaleWatts !== scaleWatts || this.#around.device.model !== readings.model)
      this.#around = { device: this.device, readings, peers: this.#peers, scaleWatts };
    return this.#around;
  }

  #heldBy({ detector }: WatchedDetector<Detector>): boolean {
    const { family, outranks } = kindFacts[detector.kind];
    return this.#watched.some(
      (other) =>
        other.detector !== detector &&
        other.episode.active &&
        other.detector.kind !== outranks &&
        kindFacts[other.detector.kind].family === family,
    );
  }

  #endOutranked(kind: AnomalyKind, timeMs: number, report: (change: AnomalyChange) => void): void {
    const { outranks } = kindFacts[kind];
    for (const one of this.#watched)
      if (one.detector.kind === outranks) this.#end(one, one.detector.kind, timeMs, report);
  }

  #look(
    one: WatchedDetector<unknown>,
    kind: AnomalyKind,
    timeMs: number,
    spanMs: number,
    { verdict, evidence }: Detection,
    report: (change: AnomalyChange) => void,
  ): void {
    // The worst evidence is reported, so that the description does not fade with the fault.
    if (evidence !== undefined && (verdict === true || one.episode.active)) {
      const now = evidence();
      if (!one.episode.active || now.sigmas > (one.evidence?.sigmas ?? 0)) one.evidence = now;
    }
    const change = one.episode.look(timeMs, spanMs, verdict);
    if (change === undefined || one.evidence === undefined) return;
    const endedMs = change === "ended" ? timeMs : undefined;
    report({ change, anomaly: this.#anomaly(kind, one.episode, one.evidence, endedMs) });
    if (change === "ended") one.evidence = undefined;
  }

  #end(
    one: WatchedDetector<{ restart?(): void }>,
    kind: AnomalyKind,
    timeMs: number,
    report: (change: AnomalyChange) => void,
  ): void {
    const { episode, evidence } = one;
    if (episode.end() !== undefined && evidence !== undefined)
      report({ change: "ended", anomaly: this.#anomaly(kind, episode, evidence, timeMs) });
    one.evidence = undefined;
    one.detector.restart?.();
  }

  #anomaly(
    kind: AnomalyKind,
    { sinceMs, toldMs }: Episode,
    evidence: Evidence,
    endedMs: number | undefined,
  ): Anomaly {
    const { severity } = kindFacts[kind];
    return { kind, severity, device: this.device, ...evidence, sinceMs, toldMs, endedMs };
  }
}

function scaleFor(mostWatts: number): number {
  let watts = usualLimitWatts;
  while (watts < mostWatts) watts *= scaleStep;
  return watts;
}
