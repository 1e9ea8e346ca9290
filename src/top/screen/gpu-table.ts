/** A GPU's line in the table: bars relative to the card's own limits, its history, clocks and bottleneck. */
import type { WireValue } from "../../view/live/protocol.ts";
import type { GpuSort } from "../model/arrange.ts";
import {
  clock,
  type Gpu,
  hasSeveralHosts,
  memoryRatio,
  memoryTotal,
  powerLimit,
  powerRatio,
  read,
  shortModel,
  temperature,
  temperatureLimit,
  temperatureRatio,
} from "../../view/gpu.ts";
import { isStale, type Picture, simulatedOf } from "../model/picture.ts";
import { bar, curve, pointsIn } from "../text/draw.ts";
import type { Glyphs } from "../text/glyphs.ts";
import {
  NOT_AVAILABLE,
  age,
  bytesPerSecond,
  megahertz,
  memoryOf,
  percent,
  powerOf,
  temperatureOf,
  wattHours,
  watts,
} from "../text/quantity.ts";
import { span, type TextRole, type TextRow } from "../text/row.ts";
import { clean, fit, textWidth } from "../text/width.ts";
import { type ScreenColumn, textCell } from "./columns.ts";
import {
  boundBadge,
  healthBadge,
  statusBadges,
  type StatusBadge,
  temperatureLevel,
} from "../../view/gpu-status.ts";

/** A shorter bar shows no more than its number. */
const LEAST_BAR = 3;

export function gpuColumns(
  picture: Picture,
  glyphs: Glyphs,
): readonly ScreenColumn<Gpu, GpuSort>[] {
  const { gpus } = picture;
  const isOld = isStale(picture);
  const hosts = hasSeveralHosts(gpus);
  const isMixed = simulatedOf(gpus) === "some";
  const longest = (text: (gpu: Gpu) => string, most: number): number =>
    Math.min(most, Math.max(3, ...gpus.map((gpu) => text(gpu).length)));
  const hostWidth = longest(({ device }) => device.host, 18);
  const indexWidth = longest(({ device }) => String(device.index), 5);
  const modelWidth = Math.max(
    6,
    longest(({ device }) => shortModel(device), 24) + (isMixed ? 5 : 0),
  );
  const jobWidth = Math.max(5, longest(ownerOf, 28));
  const number = (value: WireValue, role: TextRole): TextRole =>
    isOld || typeof value !== "number" ? "dim" : role;

  const meter = (
    ratio: WireValue,
    texts: readonly string[],
    role: TextRole,
    width: number,
    shortWidth: number,
    longWidth: number,
  ): TextRow => {
    const [short = "", long = short] = texts;
    // The long text is never truncated, because half a number is a wrong number.
    const isLong = width >= longWidth + 1 + LEAST_BAR + 2 && textWidth(long) <= longWidth;
    const text = isLong ? long : short;
    const textWide = isLong ? longWidth : Math.min(width, Math.max(shortWidth, textWidth(text)));
    const barWide = width - textWide - 1;
    const shown = number(ratio, role);
    // The hue is for the bar; a number is coloured only for a problem.
    const numberRole =
      isOld || text === NOT_AVAILABLE ? "dim" : role === "warn" || role === "bad" ? role : "text";
    return [
      ...(barWide >= LEAST_BAR
        ? [...bar(typeof ratio === "number" ? ratio : undefined, barWide, shown, glyphs), span(" ")]
        : [span(" ".repeat(Math.max(0, width - textWide)))]),
      span(fit(text, textWide, "right"), numberRole),
    ];
  };

  /** A number in its own column, present only if a GPU reports it. */
  const extra = (
    title: string,
    rank: number,
    width: number,
    value: (gpu: Gpu) => WireValue,
    write: (value: WireValue) => string,
  ): readonly ScreenColumn<Gpu, GpuSort>[] =>
    gpus.some((gpu) => typeof value(gpu) === "number")
      ? [
          {
            title,
            min: width,
            max: width,
            rank,
            isExtra: true,
            align: "right",
            cell: (gpu, wide) => {
              const shown = value(gpu);
              return [span(fit(write(shown), wide, "right"), number(shown, "text"))];
            },
          },
        ]
      : [];

  /** A column with one word, present if at least one GPU has it; coloured for a problem. */
  const word = (
    title: string,
    width: number,
    of: (gpu: Gpu) => StatusBadge | undefined,
  ): readonly ScreenColumn<Gpu, GpuSort>[] =>
    gpus.some((gpu) => of(gpu) !== undefined)
      ? [
          {
            title,
            min: width,
            max: width,
            rank: 9,
            cell: (gpu, wide) => {
              const found = of(gpu);
              const role = found === undefined || found.level === "note" ? "text" : found.level;
              return [
                span(fit(found?.text ?? NOT_AVAILABLE, wide), isOld || !found ? "dim" : role),
              ];
            },
          },
        ]
      : [];

  const spark = (gpu: Gpu, width: number): TextRow => {
    const points = picture.history(gpu.device, "utilization", pointsIn(width, glyphs));
    return [span(curve(points, width, 1, glyphs)[0] ?? "", isOld ? "dim" : "util")];
  };

  return [
    ...(hosts
      ? [
          {
            title: "HOST",
            sort: "gpu" as const,
            min: Math.min(hostWidth, 6),
            max: hostWidth,
            rank: 2,
            cell: ({ device }: Gpu, width: number) => textCell(clean(device.host), width),
          },
        ]
      : []),
    {
      title: "GPU",
      ...(hosts ? {} : { sort: "gpu" as const }),
      min: Math.max(4, indexWidth),
      max: Math.max(4, indexWidth),
      rank: 1,
      align: "right",
      cell: ({ device }, width) => textCell(String(device.index), width, "right"),
    },
    {
      title: "MODEL",
      sort: "model",
      min: Math.min(8, modelWidth),
      good: 24,
      max: modelWidth,
      rank: 7,
      cell: ({ device }, width) => {
        const mark = isMixed && device.simulated ? "sim: " : "";
        return textCell(mark + clean(shortModel(device)), width);
      },
    },
    {
      title: "UTIL",
      sort: "util",
      min: 8,
      good: 11,
      max: 40,
      rank: 1,
      cell: (gpu, width) =>
        meter(read(gpu, "utilization"), [percent(read(gpu, "utilization"))], "util", width, 4, 4),
    },
    {
      title: "MEMORY",
      sort: "memory",
      min: 8,
      good: 11,
      max: 40,
      rank: 3,
      cell: (gpu, width) =>
        meter(
          memoryRatio(gpu),
          [percent(memoryRatio(gpu)), memoryOf(read(gpu, "memoryUsed"), memoryTotal(gpu))],
          "memory",
          width,
          4,
          12,
        ),
    },
    {
      title: "HISTORY",
      min: 8,
      good: 10,
      max: 60,
      rank: 6,
      cell: spark,
    },
    {
      title: "POWER",
      sort: "power",
      min: 9,
      good: 12,
      max: 40,
      rank: 3,
      cell: (gpu, width) =>
        meter(
          powerRatio(gpu),
          [watts(read(gpu, "power")), powerOf(read(gpu, "power"), powerLimit(gpu))],
          "power",
          width,
          5,
          10,
        ),
    },
    {
      title: "TEMP",
      sort: "temp",
      min: 5,
      good: 10,
      max: 36,
      rank: 4,
      cell: (gpu, width) =>
        meter(
          temperatureRatio(gpu),
          [
            temperatureOf(temperature(gpu), "unsupported", glyphs.celsius),
            temperatureOf(temperature(gpu), temperatureLimit(gpu), glyphs.celsius),
          ],
          temperatureLevel(gpu) ?? "temperature",
          width,
          5,
          9,
        ),
    },
    {
      title: "CLOCK",
      sort: "clock",
      min: 7,
      max: 8,
      rank: 8,
      align: "right",
      cell: (gpu, width) => [
        span(fit(megahertz(clock(gpu)), width, "right"), number(clock(gpu), "text")),
      ],
    },
    ...extra("FAN", 11, 4, (gpu) => read(gpu, "fan"), percent),
    ...extra("PCIE RX", 12, 8, (gpu) => read(gpu, "pcieRx"), bytesPerSecond),
    ...extra("PCIE TX", 12, 8, (gpu) => read(gpu, "pcieTx"), bytesPerSecond),
    ...extra("LINK RX", 13, 8, (gpu) => picture.counters(gpu).interconnectRx, bytesPerSecond),
    ...extra("LINK TX", 13, 8, (gpu) => picture.counters(gpu).interconnectTx, bytesPerSecond),
    ...extra("ENC", 14, 4, (gpu) => read(gpu, "encoder"), percent),
    ...extra("DEC", 14, 4, (gpu) => read(gpu, "decoder"), percent),
    ...extra("VID", 14, 4, (gpu) => read(gpu, "video"), percent),
    ...extra("ENERGY", 15, 7, (gpu) => picture.counters(gpu).energy, wattHours),
    ...(gpus.some((gpu) => ownerOf(gpu) !== "")
      ? [
          {
            title: "OWNER",
            min: Math.min(8, jobWidth),
            good: 18,
            max: jobWidth,
            rank: 9,
            cell: (gpu: Gpu, width: number): TextRow => [
              span(fit(clean(ownerOf(gpu)), width), isOld ? "dim" : "text"),
            ],
          },
        ]
      : []),
    ...word("BOUND", 7, boundBadge),
    ...word("HEALTH", 8, healthBadge),
    {
      title: "STATE",
      sort: "state",
      min: 9,
      good: 10,
      max: 20,
      rank: 5,
      cell: (gpu, width) => stateCell(gpu, picture, isOld, width),
    },
  ];
}

const ownerOf = ({ row }: Gpu): string =>
  row.job === undefined
    ? (row.user ?? "")
    : `${row.job}${row.user === undefined ? "" : ` (${row.user})`}`;

/** The worst badge first; for old data, its age instead. */
export function stateCell(gpu: Gpu, { silentMs }: Picture, isOld: boolean, width: number): TextRow {
  if (isOld) return [span(fit(`${age(silentMs)} old`, width), "warn")];
  const [first, ...others] = statusBadges(gpu);
  if (first === undefined)
    return [span(fit(gpu.state === "unknown" ? NOT_AVAILABLE : gpu.state, width), "dim")];
  const more = others.map(({ text }) => `, ${text}`).join("");
  return [span(fit(first.text + more, width), first.level)];
}
