/** Opens anomaly detection if it is enabled in the settings. */
import type { Anomaly, AnomalyKind } from "../../lake/analyses/anomaly/anomaly.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { Anomalies, type AnomaliesOptions } from "./anomalies.ts";

export interface OpenAnomalies {
  active(): readonly Anomaly[];
  /** @param key the GPU's `deviceKey` */
  activeKindsOf(key: string): readonly AnomalyKind[];
  frame(): Frame;
  close(): Promise<void>;
}

export function openAnomalies(isOn: boolean, options: AnomaliesOptions): OpenAnomalies {
  if (isOn) return new Anomalies(options);
  const empty = { series: [] };
  return {
    active: () => [],
    activeKindsOf: () => [],
    frame: () => new FrameWriter(empty, options.nowMs()).finish(),
    close: async () => {},
  };
}
