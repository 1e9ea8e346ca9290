/** Metrics that only GPU-Z logs contain. An unknown column keeps the name GPU-Z gives it and is never dropped. */
import { device } from "./device.ts";

export const gpuz = {
  busUtilization: device("gpu_bus_utilization_ratio", {
    help: "Share of the bus's bandwidth in use, as GPU-Z computes it.",
    resolution: 0.001,
    given: { gpuz: "Bus Interface Load" },
  }),
  current: device("gpu_current_amperes", {
    help: "Current by supply rail.",
    resolution: 0.001,
    plausible: [0, 10_000],
    labels: [{ name: "rail", help: "The supply rail as the tool names it." }],
    given: { gpuz: "VDDC and VDDCI Current" },
  }),
  sensorValue: device("gpuz_sensor_value", {
    help: "A GPU-Z column that has no metric of its own; never to be added up over its labels.",
    resolution: 0.000001,
    plausible: [-1e12, 1e12],
    labels: [
      { name: "sensor", help: "The column's name; a repeated one carries #2, #3 by position." },
      { name: "unit", help: "The column's unit as GPU-Z writes it." },
    ],
    given: { gpuz: "every other column" },
  }),
} as const;
