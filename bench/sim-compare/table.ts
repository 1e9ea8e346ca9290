/** Formats the comparison as a table. */
import type { PhaseComparison, TraceComparison } from "./compare.ts";

export const bounds = {
  /** Limits of a phase's mean power, and of its single readings on average. */
  powerMeanError: 0.05,
  powerAbsoluteError: 0.08,
  celsiusRmse: 3,
  clockError: 0.08,
} as const;

export function comparisonTable(comparison: TraceComparison): string {
  const head = [
    "phase",
    "s",
    "real W",
    "sim W",
    "mean err",
    "abs err",
    "real C",
    "sim C",
    "RMSE C",
    "cap MHz",
    "sim MHz",
    "err",
  ];
  const rows = comparison.phases.map((phase) => [
    phase.phase + (phase.undetermined === undefined ? "" : " ?"),
    phase.seconds.toFixed(1),
    phase.realWatts.toFixed(1),
    phase.simulatedWatts.toFixed(1),
    percent(phase.powerMeanError, bounds.powerMeanError),
    percent(phase.powerAbsoluteError, bounds.powerAbsoluteError),
    phase.realCelsius.toFixed(1),
    phase.simulatedCelsius.toFixed(1),
    celsius(phase),
    phase.capped === undefined ? "" : (phase.capped.realHertz / 1e6).toFixed(0),
    phase.capped === undefined ? "" : (phase.capped.simulatedHertz / 1e6).toFixed(0),
    phase.capped === undefined ? "" : percent(phase.capped.error, bounds.clockError),
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = [head, ...rows].map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
  const undetermined = comparison.phases.flatMap(({ phase, undetermined: why }) =>
    why === undefined ? [] : [`? ${phase} is given its power, and only its heat is judged: ${why}`],
  );
  const untimed = comparison.phases.flatMap(({ phase, celsiusSecondsRmse }) =>
    celsiusSecondsRmse === undefined
      ? []
      : [`~ ${phase} is judged by the means of each second: no column shows when it was busy`],
  );
  return [
    ...lines,
    ...undetermined,
    ...untimed,
    "",
    `room ${comparison.ambientCelsius.toFixed(1)} C, heat path ${comparison.heatPath.toFixed(2)} and leakage ${comparison.leakage.toFixed(2)} of the model's, memory ${comparison.memoryExtraWatts.toFixed(0)} W more than usual at full traffic, temperature read ${comparison.sensorAgeMs} ms late, its RMSE over the trace ${comparison.celsiusRmse.toFixed(2)} C` +
      (comparison.memoryCelsiusRmse === undefined
        ? ""
        : `, of the memory's ${comparison.memoryCelsiusRmse.toFixed(2)} C`),
  ].join("\n");
}

/** The violated limits, one sentence each. */
export function violations(comparison: TraceComparison): string[] {
  const found: string[] = [];
  for (const {
    phase,
    powerMeanError,
    powerAbsoluteError,
    celsiusRmse,
    celsiusSecondsRmse = celsiusRmse,
    capped,
    undetermined,
  } of comparison.phases) {
    if (celsiusSecondsRmse > bounds.celsiusRmse)
      found.push(`${phase}: temperature RMSE is ${celsiusSecondsRmse.toFixed(1)} C`);
    if (undetermined !== undefined) continue;
    if (powerMeanError > bounds.powerMeanError)
      found.push(`${phase}: mean power is ${percent(powerMeanError)} off`);
    if (powerAbsoluteError > bounds.powerAbsoluteError)
      found.push(`${phase}: power is ${percent(powerAbsoluteError)} off on average`);
    if (capped !== undefined && capped.error > bounds.clockError)
      found.push(`${phase}: SM clock is ${percent(capped.error)} off`);
  }
  if (comparison.celsiusRmse > bounds.celsiusRmse)
    found.push(`temperature RMSE over the trace is ${comparison.celsiusRmse.toFixed(1)} C`);
  return found;
}

function celsius({ celsiusRmse, celsiusSecondsRmse }: PhaseComparison): string {
  const judged = celsiusSecondsRmse ?? celsiusRmse;
  const seconds = celsiusSecondsRmse === undefined ? "" : ` ~${celsiusSecondsRmse.toFixed(1)}`;
  return celsiusRmse.toFixed(1) + seconds + (judged > bounds.celsiusRmse ? " !" : "");
}

function percent(ratio: number, bound = Number.POSITIVE_INFINITY): string {
  return `${(ratio * 100).toFixed(1)}%${ratio > bound ? " !" : ""}`;
}
