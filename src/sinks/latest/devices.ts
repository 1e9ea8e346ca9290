/** The newest frames arranged by device, for the web page, `/stats` and doctor. Absent readings keep their reason. */
import type { MetricEntry } from "../../model/catalogue/index.ts";
import { type Device, deviceKey } from "../../model/device.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import { type AbsenceReason, presence, presenceNames } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";

export interface DeviceReading {
  readonly metric: MetricEntry;
  readonly labels: LabelSet;
  readonly timeMs: number;
  readonly source: string;
  /** Exactly one of `value` and `absent` is set. */
  readonly value?: number;
  readonly absent?: AbsenceReason;
}

export interface DeviceView {
  readonly device: Device;
  readonly host: string;
  readonly readings: readonly DeviceReading[];
}

/** Returns one view per device, in the order the sources list them, including devices without readings. */
export function viewDevices(deliveries: readonly Delivery[], host: string): DeviceView[] {
  const views = new Map<string, { device: Device; host: string; readings: DeviceReading[] }>();
  for (const { devices, host: from = host } of deliveries) {
    for (const device of devices) {
      const key = deviceKey(from, device.uuid);
      if (!views.has(key)) views.set(key, { device, host: from, readings: [] });
    }
  }
  for (const { frame, source, host: from = host } of deliveries) {
    frame.layout.series.forEach((series, slot) => {
      if (series.metric.subject !== "device") return;
      const view = views.get(deviceKey(from, labelValue(series.labels, "uuid") ?? ""));
      if (view === undefined) return;
      const state = presenceNames[frame.presence[slot] ?? presence.failed] ?? "failed";
      const base = { metric: series.metric, labels: series.labels, timeMs: frame.timeMs, source };
      view.readings.push(
        state === "present"
          ? { ...base, value: frame.values[slot] ?? 0 }
          : { ...base, absent: state },
      );
    });
  }
  return [...views.values()];
}

/** Returns the reading of a metric whose labels include `wanted`. */
export function findReading(
  view: DeviceView,
  metric: MetricEntry,
  wanted: Readonly<Record<string, string>> = {},
): DeviceReading | undefined {
  return view.readings.find(
    (reading) =>
      reading.metric === metric &&
      Object.entries(wanted).every(([name, value]) => labelValue(reading.labels, name) === value),
  );
}
