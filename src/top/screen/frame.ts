/** The lines of every page: title with source and age, sums, and keys. */
import { type Gpu, memoryTotal, numbersOf, read, sum, temperature } from "../../view/gpu.ts";
import { type Picture, simulatedOf, STALE_AFTER_MS } from "../model/picture.ts";
import type { Glyphs } from "../text/glyphs.ts";
import { age, bytesPerSecond, total, wattHours } from "../text/quantity.ts";
import { fitRow, rowWidth, span, spread, type TextRow, type TextSpan } from "../text/row.ts";
import { clean, cut } from "../text/width.ts";
import type { View } from "../view/view.ts";
import { statusBadges } from "../../view/gpu-status.ts";

export function titleRow(
  picture: Picture,
  view: View,
  shown: readonly Gpu[],
  width: number,
  glyphs: Glyphs,
): TextRow {
  const { gpus, nowMs } = picture;
  const simulated = simulatedOf(shown.length === 0 ? gpus : shown);
  const hosts = new Set(shown.map(({ device }) => device.host)).size;
  const count = view.filter === "" ? String(gpus.length) : `${shown.length} of ${gpus.length}`;
  const right: TextSpan[] = [
    ...(view.isPaused ? [span(" PAUSED ", "warn", true), span(" ")] : []),
    span(clockText(nowMs), "dim"),
    span(" "),
  ];
  const mark =
    simulated === "all" ? " SIMULATED " : simulated === "some" ? " PARTLY SIMULATED " : "";
  const tail: TextSpan[] = [
    span(
      `${glyphs.dot}${count} GPU${gpus.length === 1 ? "" : "s"}${hosts > 1 ? ` on ${hosts} hosts` : ""}`,
    ),
    ...(mark === "" ? [] : [span("  "), span(mark, "warn", true)]),
  ];
  const room = width - rowWidth(tail) - rowWidth(right) - 13;
  const left: TextSpan[] = [
    span(" gpulse top", "strong"),
    span("  "),
    span(cut(clean(picture.from), Math.max(6, room)), "strong"),
    ...tail,
  ];
  return spread(left, right, width);
}

const clockText = (ms: number): string => {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
};

/** The sums of the visible GPUs. A connection problem comes before the numbers. */
export function summaryRow(
  picture: Picture,
  shown: readonly Gpu[],
  width: number,
  glyphs: Glyphs,
): TextRow {
  const { link, silentMs, nowMs, gpus } = picture;
  if (link.kind === "lost") {
    const seen = gpus.length === 0 ? "" : `, values are ${age(silentMs)} old`;
    const retry = `retry in ${age(Math.max(0, link.retryAtMs - nowMs))}`;
    return fitRow(
      [span(` LOST`, "bad"), span(`${seen}${glyphs.dot}${retry}${glyphs.dot}${clean(link.why)}`)],
      width,
    );
  }
  if (link.kind === "connecting" && gpus.length === 0)
    return fitRow([span(" waiting for the first readings …", "dim")], width);
  if (silentMs > STALE_AFTER_MS)
    return fitRow([span(` SILENT for ${age(silentMs)}`, "warn"), span(": no new values")], width);
  if (gpus.length > 0 && shown.length === 0)
    return fitRow([span(" no GPU matches the filter", "dim")], width);
  const parts = summaryParts(picture, shown, glyphs);
  const spans: TextSpan[] = [span(" ")];
  let left = width - 1;
  for (const [at, part] of parts.entries()) {
    const lead = at === 0 ? [] : [span(glyphs.dot, "dim")];
    const wide = rowWidth([...lead, ...part]);
    if (wide > left) continue;
    spans.push(...lead, ...part);
    left -= wide;
  }
  return fitRow(spans, width);
}

function summaryParts(picture: Picture, gpus: readonly Gpu[], glyphs: Glyphs): readonly TextRow[] {
  if (gpus.length === 0) return [[span("no GPU found: run gpulse doctor", "warn")]];
  const util = numbersOf(gpus.map((gpu) => read(gpu, "utilization")));
  const used = numbersOf(gpus.map((gpu) => read(gpu, "memoryUsed")));
  const memory = numbersOf(gpus.map(memoryTotal));
  const power = numbersOf(gpus.map((gpu) => read(gpu, "power")));
  const heat = numbersOf(gpus.map(temperature));
  const energy = numbersOf(gpus.map((gpu) => picture.counters(gpu).energy));
  const rx = numbersOf(gpus.map((gpu) => read(gpu, "pcieRx")));
  const tx = numbersOf(gpus.map((gpu) => read(gpu, "pcieTx")));
  const of = (values: readonly number[]): string =>
    values.length < gpus.length ? ` (${values.length} of ${gpus.length})` : "";
  const state = (name: string): number => gpus.filter((gpu) => gpu.state === name).length;
  const held = gpus.filter((gpu) => statusBadges(gpu).some(({ level }) => level !== "note")).length;
  const lost = state("lost") + state("silent");
  return [
    ...(lost > 0 ? [[span(`${lost} lost`, "bad")]] : []),
    [
      span("util ", "dim"),
      span(
        util.length === 0 ? "n/a" : `${Math.round((sum(util) / util.length) * 100)}%${of(util)}`,
        "util",
      ),
    ],
    [
      span("power ", "dim"),
      span(power.length === 0 ? "n/a" : `${total(sum(power), "W")}${of(power)}`, "power"),
    ],
    [
      span("memory ", "dim"),
      span(
        used.length === 0
          ? "n/a"
          : `${total(sum(used), "GiB")}${memory.length === used.length ? ` of ${total(sum(memory), "GiB")}` : ""}`,
        "memory",
      ),
    ],
    [
      span("hottest ", "dim"),
      span(
        heat.length === 0 ? "n/a" : `${Math.round(Math.max(...heat))}${glyphs.celsius}`,
        "temperature",
      ),
    ],
    ...(held > lost ? [[span(`${held - lost} unhealthy`, "warn")]] : []),
    [span(`${state("active")} active`, "dim")],
    ...(energy.length === 0
      ? []
      : [[span("energy ", "dim"), span(`${wattHours(sum(energy))}${of(energy)}`)]]),
    ...(rx.length === 0 || tx.length === 0
      ? []
      : [
          [
            span("PCIe rx ", "dim"),
            span(`${bytesPerSecond(sum(rx))}${of(rx)}`),
            span(" tx ", "dim"),
            span(`${bytesPerSecond(sum(tx))}${of(tx)}`),
          ],
        ]),
  ];
}

/** The last line: a question, the filter while it is typed, a notice, or the keys. */
export function footRow(view: View, width: number): TextRow {
  const { question, notice } = view;
  if (question !== undefined) {
    const { signal, target } = question;
    const ask =
      signal === "SIGKILL"
        ? ` ${clean(target.name)} (pid ${target.pid}) is still running. Send SIGKILL? `
        : ` Send SIGTERM to ${clean(target.name)} (pid ${target.pid})? `;
    return fitRow(
      [span(cut(ask, width - 23), "bad", true), span(" y: yes, other key: no ", "strong")],
      width,
    );
  }
  if (view.isTyping)
    return fitRow(
      [
        span(" Filter: ", "strong"),
        span(`${clean(view.filter)}_`),
        span("  Enter: apply, Esc: clear", "dim"),
      ],
      width,
    );
  if (notice !== undefined) return fitRow([span(` ${clean(notice)}`, "warn")], width);
  const keys: readonly (readonly [string, string])[] = [
    ["q", "quit"],
    ["?", "help"],
    ["/", view.filter === "" ? "filter" : `filter: ${clean(view.filter)}`],
    ["Tab", view.focus === "gpus" ? "processes" : "GPUs"],
    ["Enter", "details"],
    ["Space", view.isPaused ? "resume" : "pause"],
    ["< >", "sort"],
    ["r", "reverse"],
    ["t", "tree"],
    ["2", "heatmap"],
    ["k", "end process"],
    ["o", "theme"],
  ];
  const spans: TextSpan[] = [span(" ")];
  let left = width - 1;
  for (const [key, says] of keys) {
    const part = [span(` ${key} `, "strong", true), span(` ${says}  `, "dim")];
    const wide = rowWidth(part);
    if (wide > left) break;
    spans.push(...part);
    left -= wide;
  }
  return fitRow(spans, width);
}
