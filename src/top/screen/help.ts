/** The help page: all keys, and how to read bars, charts and states. */
import type { Glyphs } from "../text/glyphs.ts";
import { fitRow, span, type TextRow } from "../text/row.ts";
import { fit } from "../text/width.ts";

const keys = (glyphs: Glyphs): readonly (readonly [string, string])[] => [
  ["1 2 3", "overview, heatmap, processes"],
  ["Enter", "details of the selected GPU; Esc goes back"],
  ["Tab", "switch between GPUs and processes"],
  [`${glyphs.arrows} PgUp PgDn`, "select a line; so does the mouse wheel"],
  ["/", "filter by words: host, model, user, pod, state"],
  ["< > r", "sort by the previous or next column; reverse"],
  ["g u m w c", "sort by GPU, utilisation, memory, watts, °C"],
  ["t", "processes as a tree"],
  ["v", "metric of the heatmap"],
  ["Space", "pause; values still arrive meanwhile"],
  ["k", "end the selected process, after a question"],
  ["o", "next theme"],
  ["Ctrl-L", "redraw"],
  ["q Ctrl-C", "quit"],
];

export function help(width: number, height: number, glyphs: Glyphs): TextRow[] {
  const legend: readonly TextRow[] = [
    [
      span(" Bars", "head"),
      span(" are shares of the card's own limit; "),
      span("n/a", "dim"),
      span(" means not known, never 0."),
    ],
    [
      span(" Charts", "head"),
      span(" filled: "),
      span("utilisation", "util"),
      span(", line: "),
      span("memory", "memory"),
      span("."),
    ],
    [
      span(" Wide table", "head"),
      span(" LINK is NVLink or XGMI; ENERGY counts from the start of top."),
    ],
    [
      span(" State", "head"),
      span("  "),
      span("note", "note"),
      span(" normal under load  "),
      span("warn", "warn"),
      span(" check it  "),
      span("bad", "bad"),
      span(" act now"),
    ],
  ];
  const wide = Math.min(24, Math.floor(width / 3));
  return [
    fitRow([span(" KEYS", "head")], width),
    ...keys(glyphs).map(([key, says]) =>
      fitRow(
        [
          span(` ${fit(key, wide)} `, "strong"),
          span(glyphs.ascii ? says.replace("°C", "degrees") : says),
        ],
        width,
      ),
    ),
    fitRow([], width),
    ...legend.map((row) => fitRow(row, width)),
  ].slice(0, height);
}
