/** MQTT discovery messages for Home Assistant: one retained message per sensor of a GPU. Pure. */
import { seriesOf } from "../../model/columns.ts";
import type { Unit } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { vendorTitle } from "../../model/vendor.ts";

export interface Announcement {
  readonly topic: string;
  readonly payload: string;
}

interface SensorUnit {
  readonly unit: string;
  readonly deviceClass?: string;
  readonly percent?: true;
}

/** Home Assistant's names for our units. Plain numbers and states are not announced, because they are rarely charted. */
const sensorUnits: Readonly<Partial<Record<Unit, SensorUnit>>> = {
  celsius: { unit: "°C", deviceClass: "temperature" },
  watts: { unit: "W", deviceClass: "power" },
  joules: { unit: "J", deviceClass: "energy" },
  volts: { unit: "V", deviceClass: "voltage" },
  hertz: { unit: "Hz", deviceClass: "frequency" },
  bytes: { unit: "B", deviceClass: "data_size" },
  bytes_per_second: { unit: "B/s", deviceClass: "data_rate" },
  ratio: { unit: "%", percent: true },
  rpm: { unit: "rpm" },
  seconds: { unit: "s", deviceClass: "duration" },
};

/** Returns undefined if the column is not announced as a sensor. */
export function announce(
  column: string,
  device: Device,
  where: {
    readonly discoveryPrefix: string;
    readonly stateTopic: string;
    readonly availabilityTopic: string;
    readonly host: string;
  },
): Announcement | undefined {
  const series = seriesOf(column);
  const how = sensorUnits[series?.unit ?? "none"];
  if (series === undefined || how === undefined) return undefined;
  const node = `gpulse_${device.uuid.replace(/[^a-zA-Z0-9_-]/g, "_")}`;
  const value = `value_json['values'].get('${column}')`;
  return {
    topic: `${where.discoveryPrefix}/sensor/${node}/${column}/config`,
    payload: JSON.stringify({
      name: nameOf(column),
      unique_id: `${node}_${column}`,
      state_topic: where.stateTopic,
      availability_topic: where.availabilityTopic,
      // A value missing from the message was not read: Home Assistant treats None as unknown, never as 0.
      value_template:
        how.percent === true
          ? `{% set v = ${value} %}{{ None if v is none else (v * 100) | round(1) }}`
          : `{{ ${value} }}`,
      unit_of_measurement: how.unit,
      ...(how.deviceClass !== undefined && { device_class: how.deviceClass }),
      state_class: series.metric.kind === "counter" ? "total_increasing" : "measurement",
      device: {
        identifiers: [node],
        name: `${device.model} ${device.index} (${where.host})`,
        manufacturer: vendorTitle(device.vendor),
        model: device.model,
        ...(device.driver !== undefined && { sw_version: device.driver }),
      },
    }),
  };
}

/** Turns `gpu_temperature_celsius_edge` into `Temperature edge`. */
function nameOf(column: string): string {
  const words = column
    .replace(/^gpu_/, "")
    .split("_")
    .filter((word) => !(word in sensorUnits) && word !== "total");
  const text = words.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
