/** One GPU whole: who it is, what it reads, how old that is, its curves and who is on it. */
import type { WireColumn, WireValue } from "../../view/live/protocol.ts";
import { wireColumns } from "../../view/live/columns.ts";
import { clockMax, type Gpu, memoryTotal, powerLimit, read } from "../../view/gpu.ts";
import { isStale, type Picture } from "../model/picture.ts";
import type { Glyphs } from "../text/glyphs.ts";
import { age, gibibytes, megahertz, memoryOf, percent, powerOf, watts } from "../text/quantity.ts";
import { fitRow, span, type TextRow, type TextSpan } from "../text/row.ts";
import { clean, fit } from "../text/width.ts";
import { chart, scalesOf } from "./charts.ts";
import { stateCell } from "./gpu-table.ts";
import { throttleBadge } from "../../view/gpu-status.ts";

export function details(
  picture: Picture,
  gpu: Gpu,
  width: number,
  height: number,
  glyphs: Glyphs,
): TextRow[] {
  const facts = factsOf(picture, gpu, glyphs);
  const isWide = width >= 110;
  const rows: TextRow[] = [heading(picture, gpu, width)];
  const factWidth = isWide ? 50 : width;
  const factRows = pack(facts, factWidth, isWide ? 1 : Math.max(1, Math.floor(width / 38)));
  if (isWide) {
    const across = width - factWidth - 3;
    const charts = curves(picture, gpu, across, height - 1, glyphs);
    for (let at = 0; at < height - 1; at += 1) {
      const left = factRows[at] ?? [];
      rows.push(fitRow([...fitRow(left, factWidth), span("  "), ...(charts[at] ?? [])], width));
    }
    return rows.slice(0, height);
  }
  // Curves first where there is not room for both: facts change seldom.
  const room = height - 1 - Math.min(factRows.length, Math.max(6, Math.floor(height / 2)));
  const charts = curves(picture, gpu, width - 2, room, glyphs);
  rows.push(...charts.map((row) => fitRow([span(" "), ...row], width)), ...factRows);
  return rows.slice(0, height);
}

function heading(picture: Picture, gpu: Gpu, width: number): TextRow {
  const { device } = gpu;
  return fitRow(
    [
      span(` GPU ${device.index}  ${clean(device.model)}`, "strong"),
      span(`  ${clean(device.host)}  `, "dim"),
      ...(device.simulated ? [span(" SIMULATED ", "warn", true), span("  ")] : []),
      ...stateCell(gpu, picture, isStale(picture), 30),
    ],
    width,
  );
}

function curves(
  picture: Picture,
  gpu: Gpu,
  width: number,
  height: number,
  glyphs: Glyphs,
): TextRow[] {
  const scales = scalesOf(gpu, glyphs);
  // Two beside each other where four below each other would be flat.
  const columns = height < scales.length * 4 && width >= 70 ? 2 : 1;
  const lines = Math.ceil(scales.length / columns);
  const tall = Math.min(14, Math.floor(height / lines));
  if (tall < 2) return [];
  const across = Math.floor(width / columns) - (columns - 1);
  const rows: TextRow[] = [];
  for (let line = 0; line < lines; line += 1) {
    const drawn = scales
      .slice(line * columns, (line + 1) * columns)
      .map((scale) => chart(picture, gpu, scale, across, tall, glyphs));
    for (let at = 0; at < tall; at += 1) {
      const spans: TextSpan[] = [];
      drawn.forEach((one, place) => {
        if (place > 0) spans.push(span("  "));
        spans.push(...(one[at] ?? []));
      });
      rows.push(fitRow(spans, width));
    }
  }
  return rows;
}

type Fact = readonly [name: string, value: string];

function factsOf(picture: Picture, gpu: Gpu, glyphs: Glyphs): readonly Fact[] {
  const { device, row } = gpu;
  const { facts } = device;
  const throttle =
    typeof row.throttle === "string"
      ? `n/a (${row.throttle})`
      : row.throttle.map((reason) => throttleBadge(reason).text).join(", ") || "none";
  const feedAgeMs = isStale(picture) ? picture.silentMs : 0;
  const readings = wireColumns
    .filter(({ key }) => !["up", "utilization", "memoryUsedRatio", "power"].includes(key))
    .map((column): Fact => [
      readingName(column),
      reading(read(gpu, column.key), column.unit, glyphs),
    ]);
  const limits: readonly Fact[] = [
    ["throttled by", throttle],
    ["memory", memoryOf(read(gpu, "memoryUsed"), memoryTotal(gpu))],
    ["power", powerOf(read(gpu, "power"), powerLimit(gpu))],
    ["default power limit", watts(facts.powerLimitDefault)],
    ["slows down at", reading(facts.limitSlowdown, "celsius", glyphs)],
    ["shuts down at", reading(facts.limitShutdown, "celsius", glyphs)],
    ["highest clock", megahertz(clockMax(gpu))],
  ];
  const identity: readonly (readonly [string, string | undefined])[] = [
    ["uuid", device.uuid],
    ["PCI", device.pciBusId],
    ["link", device.linkType],
    ["driver", device.driver],
    ["VBIOS", device.vbios],
    ["source", device.source],
    ["job", row.job],
    ["user", row.user],
  ];
  return [
    ...limits,
    ...readings,
    ["age", row.ageMs.fast === undefined ? "n/a" : age(row.ageMs.fast + feedAgeMs)],
    ...(row.xids ?? []).map(({ xid, count }): Fact => [`XID ${xid}`, `${count} times`]),
    ...identity.map(([name, value]): Fact => [name, value ?? "n/a"]),
  ];
}

const readingName = ({ key }: WireColumn): string =>
  key.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);

function reading(value: WireValue, unit: WireColumn["unit"], glyphs: Glyphs): string {
  if (typeof value !== "number") return `n/a (${value})`;
  if (unit === "ratio") return percent(value);
  if (unit === "bytes") return gibibytes(value);
  if (unit === "celsius") return `${Math.round(value)}${glyphs.celsius}`;
  if (unit === "watts") return watts(value);
  return unit === "hertz" ? megahertz(value) : String(value);
}

/** Name and value, several beside each other, filled downwards. */
function pack(facts: readonly Fact[], width: number, columns: number): TextRow[] {
  const lines = Math.ceil(facts.length / columns);
  const across = Math.floor(width / columns);
  return Array.from({ length: lines }, (_, line) => {
    const spans: TextSpan[] = [];
    for (let column = 0; column < columns; column += 1) {
      const fact = facts[column * lines + line];
      if (fact === undefined) continue;
      const [name, value] = fact;
      const nameWide = Math.min(20, across - 10);
      spans.push(
        span(` ${fit(name, nameWide)} `, "dim"),
        span(
          fit(clean(value), Math.max(1, across - nameWide - 2)),
          value.startsWith("n/a") ? "dim" : "text",
        ),
      );
    }
    return fitRow(spans, width);
  });
}
