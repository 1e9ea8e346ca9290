// The device check's findings as a page. Pure.

const tick = (/** @type {boolean} */ ok) => (ok ? "yes" : "**no**");

const cell = (/** @type {number | string | undefined} */ value) =>
  typeof value === "number" ? String(Math.round(value * 1e6) / 1e6) : (value ?? "absent");

/**
 * @param {{
 *   machine: { gpus: number, gpu: string | undefined, driver: string | undefined, node: string, time: string },
 *   results: readonly { what: string, measured: string, bound: string, ok: boolean }[],
 *   bench: { tasks: readonly { name: string, costMicros: number, everyMs: number }[] },
 *   idle: readonly import("./compare.mjs").Finding[],
 *   loaded: readonly import("./compare.mjs").Finding[],
 * }} found
 */
export function asMarkdown({ machine, results, bench, idle, loaded }) {
  const underLoad = new Map(loaded.map((row) => [row.what, row]));
  return [
    `${machine.gpus} × ${machine.gpu ?? "GPU"}, driver ${machine.driver ?? "unknown"}, Node ${machine.node}, ${machine.time}.`,
    "",
    "| what | measured | bound | held |",
    "|---|---|---|---|",
    ...results.map(
      ({ what, measured, bound, ok }) => `| ${what} | ${measured} | ${bound} | ${tick(ok)} |`,
    ),
    "",
    "| value | idle: gpulse | idle: nvidia-smi | load: gpulse | load: nvidia-smi | bound | held |",
    "|---|---|---|---|---|---|---|",
    ...idle.map(({ what, ours, theirs, bound, ok }) => {
      const other = underLoad.get(what);
      return `| \`${what}\` | ${cell(ours)} | ${cell(theirs)} | ${cell(other?.ours)} | ${cell(other?.theirs)} | ${bound} | ${tick(ok && other?.ok !== false)} |`;
    }),
    "",
    "| NVML call | µs | how often |",
    "|---|---|---|",
    ...bench.tasks
      .toSorted((a, b) => b.costMicros - a.costMicros)
      .map(
        ({ name, costMicros, everyMs }) =>
          `| ${name} | ${costMicros} | ${everyMs === 0 ? "every fast pass" : `${everyMs / 1_000} s`} |`,
      ),
    "",
  ].join("\n");
}
