/** The keys, all of them. */
import type { Glyphs } from "../text/glyphs.ts";
import { fitRow, span, type TextRow } from "../text/row.ts";
import { fit } from "../text/width.ts";

const keys = (glyphs: Glyphs): readonly (readonly [string, string])[] => [
  ["1 2 3", "overview, heatmap, processes"],
  ["Enter", "details of the chosen GPU; Esc goes back"],
  ["Tab", "between GPUs and processes"],
  [`${glyphs.arrows} PgUp PgDn`, "choose a line; the wheel does too"],
  ["/", "filter by any words: host, model, user, pod, state"],
  ["< > r", "sort by the next column, the other way round"],
  ["g u m w c", "sort by GPU, utilisation, memory, watts, °C"],
  ["t", "processes as a tree"],
  ["v", "what the heatmap shows"],
  ["Space", "pause; numbers go on arriving meanwhile"],
  ["k", "end the chosen process here, after a question"],
  ["o", "next theme"],
  ["Ctrl-L", "draw everything again"],
  ["q Ctrl-C", "quit"],
];

export function help(width: number, height: number, glyphs: Glyphs): TextRow[] {
  const legend: readonly TextRow[] = [
    [
      span(" Bars", "head"),
      span(" are shares of the card's own limit; "),
      span("n/a", "dim"),
      span(" is not known, never 0."),
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
      span(" usual under load  "),
      span("warn", "warn"),
      span(" look at it  "),
      span("bad", "bad"),
      span(" act"),
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
