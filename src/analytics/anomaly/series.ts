/** Anomalies as series, a frame per machine: 1 while one is told, ended when it is over, so that rules can alert on them. */
import { gpu } from "../../model/catalogue/index.ts";
import type { MetricEntry } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { FrameWriter } from "../../model/frame.ts";
import type { LabelSet } from "../../model/labels.ts";
import { labelKey, labelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { AnomalyWatch } from "./watch.ts";

type Sample = readonly [metric: MetricEntry, labels: LabelSet, value: number];

export interface HostFrame {
  readonly host: string;
  readonly frame: Frame;
}

export class AnomalySeries {
  readonly #layouts = new Map<string, { readonly shape: string; readonly layout: Layout }>();

  /** A frame of every machine that has something to tell, and an empty one of those that have no more. */
  at(timeMs: number, watch: AnomalyWatch): readonly HostFrame[] {
    const hosts = new Map<string, Sample[]>();
    for (const host of this.#layouts.keys()) hosts.set(host, []);
    const put = (host: string, sample: Sample): void => {
      const samples = hosts.get(host);
      if (samples === undefined) hosts.set(host, [sample]);
      else samples.push(sample);
    };
    for (const { kind, severity, device } of watch.active()) {
      const { uuid, gpu: index, host } = device;
      put(host, [gpu.anomalyActive, labelSet({ uuid, gpu: index, host, kind, severity }), 1]);
    }
    for (const watched of watch.devices) {
      const celsius = watched.atLoadCelsius();
      const { uuid, gpu: index, host } = watched.device;
      if (celsius !== undefined)
        put(host, [gpu.temperatureAtLoad, labelSet({ uuid, gpu: index, host }), celsius]);
    }
    return [...hosts].map(([host, samples]) => ({
      host,
      frame: this.#frame(timeMs, host, samples),
    }));
  }

  #frame(timeMs: number, host: string, samples: readonly Sample[]): Frame {
    const shape = samples.map(([metric, labels]) => metric.name + labelKey(labels)).join("\n");
    let known = this.#layouts.get(host);
    if (known?.shape !== shape) {
      const builder = new LayoutBuilder();
      for (const [metric, labels] of samples) builder.add(metric, labels);
      this.#layouts.set(host, (known = { shape, layout: builder.build() }));
    }
    const writer = new FrameWriter(known.layout, timeMs);
    samples.forEach(([, , value], slot) => writer.set(slot, value));
    return writer.finish();
  }
}
