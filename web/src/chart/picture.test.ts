import { expect, test } from "vitest";
import { pictureText } from "./picture.ts";

test("a picture has its title with the GPU, the time, and each line with its dashes and statistics", () => {
  const line = (label: string, ...values: number[]) => ({
    key: label,
    label,
    values: Float64Array.from(values),
    colour: label,
  });
  const text = pictureText(
    { title: "Power: NVIDIA H200 #3 on node-1", unit: "watts" },
    {
      grid: { startMs: 0, endMs: 2_000, stepMs: 1_000 },
      window: { fromMs: 0, toMs: 2_000 },
      lines: [line("board", 100, 300, 200), line("rail", Number.NaN), line("limit", 700)],
    },
    { isPast: true, stored: undefined },
  );
  expect(text.title).toBe("Power: NVIDIA H200 #3 on node-1");
  expect(text.subtitle).toMatch(/^\d{4}-\d\d-\d\d .* – \d{4}-/);
  expect(text.rows.map(({ label, colour }) => [label, colour])).toEqual([
    ["board", "board"],
    ["rail", "rail"],
    ["limit", "limit"],
  ]);
  expect(text.rows[0]?.numbers).toMatch(/^min 100\sW {3}max 300\sW {3}avg 200\sW$/);
  expect(text.rows[1]?.numbers).toBe("no reading");
  expect(new Set(text.rows.map(({ dash }) => dash.join())).size).toBe(3);
});
