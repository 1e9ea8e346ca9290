/** Anomalies as series: 1 while an anomaly is active, then a staleness marker, so that rules can alert on them. */
import { gpu, type MetricEntry } from "../../../model/catalogue/index.ts";
import type { Frame } from "../../../model/frame.ts";
import { labelSet } from "../../../model/labels.ts";
import { type ListedReading, ReadingFrames } from "../../../model/reading-frames.ts";
import type { AnomalyDevice } from "./anomaly.ts";
import type { AnomalyWatch } from "./watch.ts";

interface Sample extends ListedReading {
  readonly host: string;
}

export interface HostFrame {
  readonly host: string;
  readonly frame: Frame;
}

export class AnomalySeries {
  readonly #hosts = new Map<string, ReadingFrames>();
  readonly #all = new ReadingFrames();

  /**
   * Returns a frame per machine with an anomaly, and an empty one for machines whose anomalies are over, so that their series
   * end.
   */
  byHost(timeMs: number, watch: AnomalyWatch): readonly HostFrame[] {
    const hosts = new Map<string, Sample[]>();
    for (const host of this.#hosts.keys()) hosts.set(host, []);
    for (const sample of samplesOf(watch)) {
      const samples = hosts.get(sample.host);
      if (samples === undefined) hosts.set(sample.host, [sample]);
      else samples.push(sample);
    }
    return [...hosts].map(([host, samples]) => {
      let frames = this.#hosts.get(host);
      if (frames === undefined) this.#hosts.set(host, (frames = new ReadingFrames()));
      return { host, frame: frames.frame(timeMs, samples) };
    });
  }

  /** All machines in one frame, for a page. */
  whole(timeMs: number, watch: AnomalyWatch): Frame {
    return this.#all.frame(timeMs, samplesOf(watch));
  }
}

function samplesOf(watch: AnomalyWatch): Sample[] {
  const samples: Sample[] = [];
  const put = (
    metric: MetricEntry,
    { uuid, gpu: index, host, job, instance }: AnomalyDevice,
    value: number,
    extra: Readonly<Record<string, string>> = {},
  ): void => {
    const labels = labelSet({ ...extra, uuid, gpu: index, host, job, instance });
    samples.push({ metric, host, labels, value });
  };
  for (const { kind, severity, device } of watch.active())
    put(gpu.anomalyActive, device, 1, { kind, severity });
  for (const watched of watch.devices) {
    const celsius = watched.atLoadCelsius();
    if (celsius !== undefined) put(gpu.temperatureAtLoad, watched.device, celsius);
  }
  return samples;
}
