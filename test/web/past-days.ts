/**
 * Readings of the past as OpenMetrics text: days of two GPUs that work by day and idle by night, with one short temperature spike,
 * and an hour of a GPU that was read at mixed intervals.
 */

const STEP_MS = 300_000;
const DAY_MS = 86_400_000;

export interface PastDays {
  readonly text: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Time of the temperature spike of GPU 0. */
  readonly spikeMs: number;
}

export const pastUuids = ["PAST-0", "PAST-1"] as const;

export function pastDays(endMs: number, days: number): PastDays {
  const toMs = Math.floor(endMs / STEP_MS) * STEP_MS;
  const fromMs = toMs - days * DAY_MS;
  // In the middle of a working day: beside the change of load at 8 and 20 h, the median around it would be the other level.
  const spikeMs = new Date(toMs - 2 * DAY_MS).setHours(14, 0, 0, 0);
  const families = new Map<string, string[]>();
  const add = (family: string, name: string, labels: string, value: number, ms: number): void => {
    const lines = families.get(family) ?? [];
    lines.push(`${name}{${labels}} ${value} ${ms / 1_000}`);
    families.set(family, lines);
  };
  pastUuids.forEach((uuid, gpu) => {
    const labels = `uuid="${uuid}",host="past",gpu="${gpu}"`;
    let joules = 0;
    for (let ms = fromMs; ms <= toMs; ms += STEP_MS) {
      const hour = new Date(ms).getHours();
      const works = hour >= 8 && hour < 20 ? 1 : 0.1;
      // A slow, deterministic wave, so that the load is not constant.
      const busy = works * (0.75 + 0.15 * Math.sin(ms / 7_000_000 + gpu));
      const watts = 60 + 240 * busy;
      joules += (watts * STEP_MS) / 1_000;
      const hot = gpu === 0 && Math.abs(ms - spikeMs) < STEP_MS ? 20 : 0;
      add("gpu_up", "gpu_up", labels, 1, ms);
      add("gpu_info", "gpu_info", `${labels},model="Past card",vendor="nvidia"`, 1, ms);
      add("gpu_utilization_ratio", "gpu_utilization_ratio", labels, busy, ms);
      add("gpu_power_watts", "gpu_power_watts", labels, watts, ms);
      add(
        "gpu_temperature_celsius",
        "gpu_temperature_celsius",
        `${labels},sensor="edge"`,
        30 + watts / 8 + hot,
        ms,
      );
      add("gpu_energy_joules", "gpu_energy_joules_total", labels, joules, ms);
    }
  });
  return { text: openMetrics(families), fromMs, toMs, spikeMs };
}

function openMetrics(families: ReadonlyMap<string, readonly string[]>): string {
  const text = [...families].map(([family, lines]) => {
    const kind = family === "gpu_energy_joules" ? "counter" : "gauge";
    return `# TYPE ${family} ${kind}\n${lines.join("\n")}\n`;
  });
  return `${text.join("")}# EOF\n`;
}

export const mixedUuid = "MIXED";

/** 100 W at 10 % read every second for half an hour, then 500 W at 90 % read every 15 s. Without an energy counter. */
export function mixedHour(fromMs: number): string {
  const families = new Map<string, string[]>();
  const read = (ms: number, watts: number, ratio: number): void => {
    const labels = `{uuid="${mixedUuid}",host="past",gpu="2"`;
    for (const [family, more, value] of [
      ["gpu_up", "", 1],
      ["gpu_info", ',model="Past card",vendor="nvidia"', 1],
      ["gpu_power_watts", "", watts],
      ["gpu_utilization_ratio", "", ratio],
    ] as const) {
      const lines = families.get(family) ?? [];
      lines.push(`${family}${labels}${more}} ${value} ${(fromMs + ms) / 1_000}`);
      families.set(family, lines);
    }
  };
  for (let ms = 1_000; ms <= 1_800_000; ms += 1_000) read(ms, 100, 0.1);
  for (let ms = 1_815_000; ms <= 3_600_000; ms += 15_000) read(ms, 500, 0.9);
  return openMetrics(families);
}
