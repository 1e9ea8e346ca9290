/** The details page of one GPU: identity, readings with their age, charts and processes. */
import type { WireValue } from "../../view/live/protocol.ts";
import { clockMax, type Gpu, memoryTotal, powerLimit, read } from "../../view/gpu.ts";
import { isStale, type Picture } from "../model/picture.ts";
import type { Glyphs } from "../text/glyphs.ts";
import {
  NOT_AVAILABLE,
  age,
  bytesPerSecond,
  megahertz,
  memoryOf,
  percent,
  powerOf,
  wattHours,
  watts,
} from "../text/quantity.ts";
import { fitRow, span, type TextRole, type TextRow, type TextSpan } from "../text/row.ts";
import { clean, fit } from "../text/width.ts";
import { chart, scalesOf } from "./charts.ts";
import { stateCell } from "./gpu-table.ts";
import { boundBadge, throttleBadge } from "../../view/gpu-status.ts";

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
  // Wide enough for a whole UUID if the curves still have room.
  const factWidth = isWide ? (width >= 140 ? 64 : 50) : width;
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
  // Curves come first if there is not room for both, because facts rarely change.
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
  // Two columns if four curves in one column would be too low.
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

/** The bottleneck in one word, with the activity behind it. */
function boundOf(gpu: Gpu): string {
  const bound = boundBadge(gpu);
  if (bound === undefined) return `n/a (${gpu.row.bound ?? "unsupported"})`;
  const [, numbers = ""] = bound.tip.split("\n");
  return `${bound.text} (${numbers})`;
}

interface Fact {
  readonly name: string;
  readonly value: string;
  readonly role?: TextRole;
}

/** Known facts first: if there is not room for all, absent ones are cut off. */
function factsOf(picture: Picture, gpu: Gpu, glyphs: Glyphs): readonly Fact[] {
  const { device, row } = gpu;
  const { facts } = device;
  const { interconnectRx, interconnectTx, energy } = picture.counters(gpu);
  const throttle =
    typeof row.throttle === "string"
      ? `n/a (${row.throttle})`
      : row.throttle.map((reason) => throttleBadge(reason).text).join(", ") || "none";
  const feedAgeMs = isStale(picture) ? picture.silentMs : 0;
  const links = interconnectNames[device.vendor] ?? "GPU links";
  const fact = (name: string, value: string): Fact => ({ name, value });
  const known = (name: string, value: WireValue, write: (value: number) => string): Fact =>
    fact(name, typeof value === "number" ? write(value) : `n/a (${value})`);
  const all: readonly Fact[] = [
    fact("bound by", boundOf(gpu)),
    fact("throttled by", throttle),
    fact("memory", memoryOf(read(gpu, "memoryUsed"), memoryTotal(gpu))),
    fact("power", powerOf(read(gpu, "power"), powerLimit(gpu))),
    known("default power limit", facts.powerLimitDefault, watts),
    known("energy since start", energy, wattHours),
    known("energy counter", read(gpu, "energyTotal"), wattHours),
    ...linkFacts(gpu),
    known("PCIe receive", read(gpu, "pcieRx"), bytesPerSecond),
    known("PCIe transmit", read(gpu, "pcieTx"), bytesPerSecond),
    known(`${links} receive`, interconnectRx, bytesPerSecond),
    known(`${links} transmit`, interconnectTx, bytesPerSecond),
    known("encoder", read(gpu, "encoder"), percent),
    known("decoder", read(gpu, "decoder"), percent),
    known("video engine", read(gpu, "video"), percent),
    known("slows down at", facts.limitSlowdown, (value) => celsius(value, glyphs)),
    known("shuts down at", facts.limitShutdown, (value) => celsius(value, glyphs)),
    known("temperature edge", read(gpu, "temperatureEdge"), (value) => celsius(value, glyphs)),
    known("temperature hotspot", read(gpu, "temperatureHotspot"), (value) =>
      celsius(value, glyphs),
    ),
    known("temperature memory", read(gpu, "temperatureMemory"), (value) => celsius(value, glyphs)),
    known("temperature margin", read(gpu, "temperatureMargin"), (value) => celsius(value, glyphs)),
    known("clock sm", read(gpu, "clockSm"), megahertz),
    known("clock graphics", read(gpu, "clockGraphics"), megahertz),
    known("clock memory", read(gpu, "clockMemory"), megahertz),
    known("highest clock", clockMax(gpu), megahertz),
    known("fan", read(gpu, "fan"), percent),
    known("ecc uncorrected", read(gpu, "eccUncorrected"), String),
    ...(row.xids ?? []).map(({ xid, count }) =>
      fact(`XID ${xid}`, count === 1 ? "once" : `${count} times`),
    ),
    fact("age", row.ageMs.fast === undefined ? NOT_AVAILABLE : age(row.ageMs.fast + feedAgeMs)),
    fact("uuid", device.uuid),
    fact("PCI", device.pciBusId ?? NOT_AVAILABLE),
    fact("interface", device.linkType ?? NOT_AVAILABLE),
    fact("driver", device.driver ?? NOT_AVAILABLE),
    fact("VBIOS", device.vbios ?? NOT_AVAILABLE),
    fact("source", device.source),
    fact("job", row.job ?? NOT_AVAILABLE),
    fact("user", row.user ?? NOT_AVAILABLE),
  ];
  const isAbsent = ({ value }: Fact): boolean => value.startsWith(NOT_AVAILABLE);
  return [...all.filter((one) => !isAbsent(one)), ...all.filter(isAbsent)];
}

const interconnectNames: Readonly<Record<string, string>> = { nvidia: "NVLink", amd: "XGMI" };

/** `x16`, or `x8 of x16` if card and slot support more. A narrow link is a fault; a low generation saves power when idle. */
function linkFacts({ device, row }: Gpu): readonly Fact[] {
  const { linkGenerationMax, linkWidthMax } = device.facts;
  const fact = (name: string, now: WireValue, most: WireValue, unit: string): Fact => {
    if (typeof now !== "number") return { name, value: `${NOT_AVAILABLE} (${now})` };
    const isBelow = typeof most === "number" && now < most;
    const value = isBelow ? `${unit}${now} of ${unit}${most}` : `${unit}${now}`;
    return isBelow && unit === "x" ? { name, value, role: "warn" } : { name, value };
  };
  return [
    fact("PCIe generation", read({ row }, "linkGeneration"), linkGenerationMax, ""),
    fact("PCIe width", read({ row }, "linkWidth"), linkWidthMax, "x"),
  ];
}

const celsius = (value: number, glyphs: Glyphs): string => `${Math.round(value)}${glyphs.celsius}`;

/** Names and values in several columns, filled downwards. */
function pack(facts: readonly Fact[], width: number, columns: number): TextRow[] {
  const lines = Math.ceil(facts.length / columns);
  const across = Math.floor(width / columns);
  return Array.from({ length: lines }, (_, line) => {
    const spans: TextSpan[] = [];
    for (let column = 0; column < columns; column += 1) {
      const fact = facts[column * lines + line];
      if (fact === undefined) continue;
      const { name, value, role = "text" } = fact;
      const nameWide = Math.min(20, across - 10);
      spans.push(
        span(` ${fit(name, nameWide)} `, "dim"),
        span(
          fit(clean(value), Math.max(1, across - nameWide - 2)),
          value.startsWith(NOT_AVAILABLE) ? "dim" : role,
        ),
      );
    }
    return fitRow(spans, width);
  });
}
