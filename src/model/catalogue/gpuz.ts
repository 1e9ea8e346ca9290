/** Metrics that only GPU-Z logs contain. An unknown column keeps the name GPU-Z gives it and is never dropped. */
import { device } from "./device.ts";

export const gpuz = {
  busUtilization: device("gpu_bus_utilization_ratio", {
    help: "Share of bus bandwidth in use, as computed by GPU-Z.",
    resolution: 0.001,
    given: { gpuz: "Bus Interface Load" },
  }),
  current: device("gpu_current_amperes", {
    help: "Current by supply rail.",
    resolution: 0.001,
    plausible: [0, 10_000],
    labels: [{ name: "rail", help: "Supply rail as named by the tool." }],
    given: { gpuz: "VDDC and VDDCI Current" },
  }),
  sensorValue: device("gpuz_sensor_value", {
    help: "A GPU-Z column without a metric of its own; must not be summed over its labels.",
    resolution: 0.000001,
    plausible: [-1e12, 1e12],
    labels: [
      { name: "sensor", help: "Name of the column; a repeated name gets #2, #3 by position." },
      { name: "unit", help: "Unit of the column as written by GPU-Z." },
    ],
    given: { gpuz: "every other column" },
  }),
} as const;
