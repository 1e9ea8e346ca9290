import { expect, test } from "vitest";
import { Painter, colourDepth, nearest256 } from "../colour/paint.ts";
import { findTheme, themes } from "../colour/theme.ts";
import { textRoles, span } from "../text/row.ts";
import { ScreenWriter } from "./writer.ts";

function recorder(): {
  writer: ScreenWriter;
  written: string[];
  output: { writableLength: number };
} {
  const written: string[] = [];
  const output = { writableLength: 0, write: (text: string) => written.push(text) };
  return { writer: new ScreenWriter(output), written, output };
}

test("only lines that changed are written, as one synchronised update", () => {
  const { writer, written } = recorder();
  writer.show(["a", "b"]);
  writer.show(["a", "c"]);
  writer.show(["a", "c"]);
  expect(written).toEqual([
    "\u001b[?2026h\u001b[1;1Ha\u001b[2;1Hb\u001b[?2026l",
    "\u001b[?2026h\u001b[2;1Hc\u001b[?2026l",
  ]);
});

test("a terminal that still has output pending gets no further picture", () => {
  const { writer, written, output } = recorder();
  output.writableLength = 9;
  expect(writer.show(["a"])).toBe(false);
  output.writableLength = 0;
  expect(writer.show(["b"])).toBe(true);
  expect(written).toHaveLength(1);
});

test("after a resize everything is written again", () => {
  const { writer, written } = recorder();
  writer.show(["a"]);
  writer.forget();
  writer.show(["a"]);
  expect(written.at(-1)).toContain("\u001b[1;1Ha");
});

test.each<[Record<string, string>, string]>([
  [{ TERM: "xterm-256color", COLORTERM: "truecolor" }, "true"],
  [{ TERM: "xterm-256color" }, "256"],
  [{ TERM: "xterm" }, "16"],
  [{ TERM: "dumb" }, "none"],
  [{ TERM: "xterm-256color", NO_COLOR: "1" }, "none"],
  [{ TERM: "xterm-256color", NO_COLOR: "" }, "256"],
])("%j has %s", (env, depth) => expect(colourDepth(env)).toBe(depth));

test("NO_COLOR leaves weight and inverse, and no colour", () => {
  for (const theme of themes) {
    const painter = new Painter(theme, "none", false);
    const line = painter.line(
      textRoles.flatMap((role) => [span("x", role), span("y", role, true)]),
    );
    expect(line).not.toMatch(/\[[\d;]*(3[0-9]|9[0-7])/);
  }
});

test.each<["true" | "256" | "16", string]>([
  ["true", "\u001b[0;38;2;86;180;233mx\u001b[0m"],
  ["256", "\u001b[0;38;5;74mx\u001b[0m"],
  ["16", "\u001b[0;94mx\u001b[0m"],
])("the hue of utilisation in %s", (depth, text) => {
  const theme = findTheme("okabe");
  if (theme === undefined) throw new Error("BUG: there is no such theme");
  expect(new Painter(theme, depth, false).line([span("x", "util")])).toBe(text);
});

test("greys are greys", () => expect(nearest256([128, 128, 128])).toBe(244));

/** Machado, Oliveira and Fernandes 2009, severity 1: how protanopes and deuteranopes perceive linear RGB. */
const blind = {
  protanopia: [
    0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998,
  ],
  deuteranopia: [
    0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881,
  ],
} as const;

test.each(Object.entries(blind))(
  "warn and bad stay apart from good in every theme: %s",
  (_, matrix) => {
    for (const { colours } of themes) {
      const { warn, bad, good } = colours;
      if (warn === undefined || bad === undefined || good === undefined) continue;
      const seen = (rgb: readonly number[]): number[] => {
        const linear = rgb.map((part) => (part / 255) ** 2.2);
        return [0, 1, 2].map((row) => {
          const sum = linear.reduce((all, part, at) => all + part * (matrix[row * 3 + at] ?? 0), 0);
          return 255 * Math.max(0, sum) ** (1 / 2.2);
        });
      };
      const apart = (left: readonly number[], right: readonly number[]): number =>
        Math.hypot(...seen(left).map((part, at) => part - (seen(right)[at] ?? 0)));
      expect(apart(warn, good)).toBeGreaterThan(40);
      expect(apart(bad, good)).toBeGreaterThan(40);
    }
  },
);
