/** Formats a run in a few lines. Numbers have units; unknown values are left out. */
import { measuredSeconds, measuredSpan, type RunFile, type RunResult } from "../../runs/run.ts";
import { points } from "../../runs/energy.ts";
import { countOf, formatCount } from "../command/quantity.ts";
import { formatBounds, formatFlops, formatMfu, type ReadColumn } from "../../runs/activity.ts";
import type { VisiblePart } from "../../machine/snapshot.ts";
import { formatOverhead } from "./overhead.ts";

export function formatRunSummary({ run, trace }: RunFile): string[] {
  const lines = [`${run.label}: ${run.durationSeconds.toFixed(2)} s, ${endOf(run)}${workOf(run)}`];
  if (run.result !== undefined) lines.push(formatResult(run.result));
  const [fromMs, toMs] = measuredSpan(run);
  const columnsOf =
    (uuid: string): ReadColumn =>
    (name) => {
      const gpu = trace.get(uuid);
      if (gpu === undefined) return [];
      return points(gpu, name)
        .filter(({ timeMs }) => timeMs >= fromMs && timeMs <= toMs)
        .map(({ value }) => value);
    };
  const mfu = formatMfu({ ...run, durationSeconds: measuredSeconds(run) }, columnsOf);
  if (mfu !== undefined) lines.push(mfu);
  for (const device of run.devices) {
    if (device.parent !== undefined) continue;
    const column = device.power === "chip" ? "gpu_chip_power_watts" : "gpu_power_watts";
    const during = columnsOf(device.uuid);
    const said = [
      mean(during(column), (watts) => `${device.power} power ${watts.toFixed(1)} W`),
      energyOf(device.energy.counterJoules, "by its counter"),
      energyOf(device.energy.integratedJoules, "integrated"),
      mean(during("gpu_utilization_ratio"), (ratio) => `busy ${(ratio * 100).toFixed(0)} %`),
      formatBounds(during),
      formatFlops(during),
    ].filter((text) => text !== undefined);
    const name = `${device.model}${device.simulated ? " (simulated)" : ""}`;
    const where = device.host === run.host ? "" : ` on ${device.host}`;
    lines.push(
      `GPU ${device.index}${where}, ${name}: ${said.length === 0 ? "no reading" : said.join(", ")}`,
    );
  }
  if (run.devices.length === 0) lines.push("no GPU was recorded");
  lines.push(
    `${formatOverhead(run.overhead)}; ${countOf(run.overhead.samplesTaken, "sample")}, ${formatCount(run.overhead.samplesWanted)} expected`,
  );
  lines.push(...verdictLines(run.verdict), ...visibilityLines(run.visible.parts ?? []));
  return [...lines, ...run.notes.map((note) => `note: ${note}`)];
}

function verdictLines({ verdict, changes, unproven }: RunFile["run"]["verdict"]): string[] {
  const says = {
    same:
      unproven === undefined || unproven.length === 0
        ? "the system was the same before and after"
        : "everything that can be compared was the same before and after",
    changed: "the system CHANGED during the run",
    loaded: "ANOTHER process used a GPU during the run",
    unknown: "it is unknown whether the system changed",
  }[verdict];
  return [
    says,
    ...changes.map(({ sentence }) => `  ${sentence}`),
    ...unprovenLines(unproven ?? []),
  ];
}

/** `seen: driver (nvidia 580.95.05), clocks`, and a line for each part that is not seen. */
function visibilityLines(parts: readonly VisiblePart[]): string[] {
  const seen = parts.filter(({ state }) => state === "seen");
  return [
    ...(seen.length === 0
      ? []
      : [`seen: ${seen.map(({ part, detail }) => `${part} (${detail})`).join(", ")}`]),
    ...parts
      .filter(({ state }) => state === "partly" || state === "unseen")
      .map(
        ({ part, state, detail }) =>
          `${state === "partly" ? "partly seen" : "NOT seen"}: ${part} (${detail})`,
      ),
  ];
}

const mostUnproven = 12;

function unprovenLines(unproven: readonly string[]): string[] {
  if (unproven.length === 0) return [];
  const rest = unproven.length - mostUnproven;
  return [
    `  not comparable (${unproven.length}):`,
    ...unproven.slice(0, mostUnproven).map((sentence) => `    ${sentence}`),
    ...(rest > 0 ? [`    and ${rest} more, in the file`] : []),
  ];
}

function endOf({ exitCode, signal, complete, command }: RunFile["run"]): string {
  if (!complete) return "interrupted";
  if (command.length === 0) return "done";
  return signal === undefined ? `exit code ${exitCode ?? "unknown"}` : `ended by ${signal}`;
}

function formatResult({ tool, window, figures }: RunResult): string {
  const measured =
    window === undefined
      ? ""
      : `, measured ${((window[1] - window[0]) / 1_000).toFixed(2)} s of it`;
  const shown = figures.map(({ name, value, unit }) => `, ${name} ${value} ${unit}`);
  return `result of ${tool}${measured}${shown.join("")}`;
}

function workOf(run: RunFile["run"]): string {
  const { work, devices } = run;
  if (work === undefined) return "";
  const joules = devices.map(
    ({ energy }) => energy.counterJoules ?? energy.integratedJoules ?? Number.NaN,
  );
  const total = joules.reduce((sum, one) => sum + one, 0);
  const perJoule =
    devices.length === 0 || Number.isNaN(total) || total === 0
      ? ""
      : `, ${(work.amount / total).toPrecision(4)} ${work.unit}/J`;
  return `, ${Number(work.amount.toPrecision(8))} ${work.unit} (${(work.amount / measuredSeconds(run)).toPrecision(5)} ${work.unit}/s${perJoule})`;
}

const energyOf = (joules: number | undefined, how: string): string | undefined =>
  joules === undefined ? undefined : `${joules.toPrecision(5)} J ${how}`;

const mean = (values: readonly number[], say: (mean: number) => string): string | undefined =>
  values.length === 0
    ? undefined
    : say(values.reduce((sum, value) => sum + value, 0) / values.length);
