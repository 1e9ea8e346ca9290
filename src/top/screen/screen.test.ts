import { expect, test } from "vitest";
import { Painter } from "../colour/paint.ts";
import {
  NOW_MS,
  deviceOf,
  feedStateOf,
  pictureOf,
  rowOf,
  taskOf,
  textOf,
} from "../../../test/fixtures/top/top.ts";
import { FeedState } from "../model/feed-state.ts";
import { ascii, unicode } from "../text/glyphs.ts";
import { textWidth } from "../text/width.ts";
import { firstView, topPages, type View } from "../view/view.ts";
import { drawScreen } from "./screen.ts";

const view = (more: Partial<View> = {}): View => ({ ...firstView, ...more });
const sizes = [
  [60, 15],
  [80, 24],
  [200, 60],
  [300, 80],
  [1, 1],
  [20, 3],
  [60, 5],
  [37, 9],
] as const;
const strange = [
  taskOf(7, {
    name: "训练模型-非常长的名字-".repeat(9),
    user: "zoë",
    container: "évil\u001b[2J\u202e",
    pod: "p",
  }),
  taskOf(8, {
    name: "e\u0301".repeat(200),
    ancestors: [{ pid: 1, name: "init\n" }],
    startTicks: "1",
  }),
];

for (const gpus of [0, 1, 8, 256])
  for (const [columns, rows] of sizes)
    test(`${gpus} GPUs at ${columns}×${rows}: every line of every page is exactly as wide as the screen`, () => {
      const pictures = [
        pictureOf({ gpus, tasks: strange }),
        pictureOf({ gpus, perHost: 8, model: "NVIDIA 模型 💾 with a long name", simulated: true }),
      ];
      for (const picture of pictures)
        for (const glyphs of [unicode, ascii])
          for (const page of topPages)
            for (const isTree of [false, true]) {
              const drawn = drawScreen(picture, view({ page, isTree }), { columns, rows }, glyphs);
              expect(drawn.rows).toHaveLength(rows);
              for (const line of textOf(drawn.rows)) {
                expect(textWidth(line)).toBe(columns);
                expect(line).not.toMatch(/\p{Cc}|\u202e/u);
              }
              for (const { row, from, to } of drawn.hits) {
                expect(row).toBeLessThan(Math.max(rows, 3));
                expect(from).toBeLessThan(to);
              }
            }
    });

test.for([
  ["60x15-8", 60, 15, 8, view()],
  ["80x24-1", 80, 24, 1, view()],
  ["80x24-8", 80, 24, 8, view()],
  ["80x24-256", 80, 24, 256, view()],
  ["200x60-8", 200, 60, 8, view()],
  ["200x60-256", 200, 60, 256, view()],
  ["80x24-8-details", 80, 24, 8, view({ page: "details" })],
  ["200x60-8-details", 200, 60, 8, view({ page: "details" })],
  ["120x40-8", 120, 40, 8, view()],
  ["120x30-256-heatmap", 120, 30, 256, view({ page: "heatmap" })],
  ["80x24-8-heatmap", 80, 24, 8, view({ page: "heatmap", heat: "power" })],
  ["80x24-64-heatmap", 80, 24, 64, view({ page: "heatmap" })],
  ["80x24-help", 80, 24, 8, view({ page: "help" })],
] as const)(
  "the screen %s is the one that was looked at",
  async ([name, columns, rows, gpus, seen]) => {
    const tasks = [
      taskOf(41_000, { user: "ada", container: "trainer", pod: "llm-7b-0", namespace: "ml" }),
      taskOf(512, {
        user: "ben",
        name: "ollama",
        uuid: "GPU-0001",
        gpuIndex: "1",
        key: "GPU-0001 512",
      }),
    ];
    const picture = { ...pictureOf({ gpus, perHost: gpus > 8 ? 8 : gpus, tasks }), nowMs: noon };
    const { rows: drawn } = drawScreen(picture, seen, { columns, rows }, unicode);
    const text = `${textOf(drawn)
      .map((line) => line.trimEnd())
      .join("\n")}\n`;
    await expect(text).toMatchFileSnapshot(`../testdata/${name}.txt`);
  },
);

test("in ASCII nothing else is drawn", async () => {
  const picture = { ...pictureOf({ gpus: 8 }), nowMs: noon };
  const { rows: drawn } = drawScreen(picture, view(), { columns: 100, rows: 30 }, ascii);
  const painter = new Painter({ name: "none", says: "", colours: {} }, "none", true);
  const text = `${drawn
    .map((row) => painter.line(row.map((one) => ({ text: one.text, role: "text" }))).trimEnd())
    .join("\n")}\n`;
  expect(text).toMatch(/^[\n\u0020-\u007e]*$/);
  await expect(text).toMatchFileSnapshot("../testdata/100x30-8-ascii.txt");
});

/** Local time, so that the clock on the screen is the same everywhere. */
const noon = new Date(2026, 0, 2, 12, 0, 0).getTime();

const lines = (gpus: number, more: Partial<View> = {}): string[] =>
  textOf(drawScreen(pictureOf({ gpus }), view(more), { columns: 120, rows: 30 }, unicode).rows);

test("what is not known is n/a and never 0", () => {
  const [row = ""] = lines(8).filter((line) => /^ +4 /.test(line));
  expect(row.match(/n\/a/g)?.length).toBeGreaterThanOrEqual(5);
  expect(row).not.toMatch(/\b0(%|W|°C)/);
});

for (const [columns, rows] of sizes)
  test(`at ${columns}×${rows} no number of the table or the charts is cut`, () => {
    for (const gpus of [1, 8, 64])
      for (const page of ["overview", "heatmap"] as const)
        for (const line of textOf(
          drawScreen(pictureOf({ gpus }), view({ page }), { columns, rows }, unicode).rows.slice(
            2,
            -1,
          ),
        ))
          expect(line).not.toMatch(/[\d.]…/);
  });

test("a memory of 16 GiB is shown whole beside its bar", () => {
  const board = new FeedState({ from: "node1", origin: "local", intervalMs: 1_000 });
  const device = deviceOf(0, { gpus: 1 });
  const facts = { ...device.facts, memoryTotal: 16 * 2 ** 30 };
  const rows = [rowOf({ up: 1, utilization: 0.5, memoryUsed: 14.4 * 2 ** 30 })];
  const devices = [{ ...device, facts }];
  board.update({ devices, rows, timeMs: NOW_MS, problems: [], tasks: [] }, NOW_MS);
  const drawn = drawScreen(board.picture(NOW_MS), view(), { columns: 200, rows: 60 }, unicode);
  expect(textOf(drawn.rows)[3]).toContain("14.4/16.0GiB");
});

test("a wide table has the rates of PCIe and NVLink, encoder, decoder and energy", () => {
  const size = { columns: 200, rows: 60 };
  const text = textOf(drawScreen(pictureOf({ gpus: 8 }), view(), size, unicode).rows);
  for (const title of ["PCIE RX", "PCIE TX", "LINK RX", "LINK TX", "ENC", "DEC", "ENERGY"])
    expect(text[2]).toContain(title);
  expect(text[4]).toMatch(/ 1\.3GB\/s +430MB\/s +21\.0GB\/s +2\.4GB\/s +0% +17% +4\.53Wh/);
  // A GPU that reports none of them.
  expect(text.find((line) => /^ +4 /.test(line))).not.toMatch(/\b0(%|B\/s)|Wh/);
});

test("a column that no GPU reports is left out", () => {
  const board = new FeedState({ from: "node1", origin: "local", intervalMs: 1_000 });
  const rows = [rowOf({ up: 1, utilization: 0.5 })];
  const devices = [deviceOf(0, { gpus: 1 })];
  board.update({ devices, rows, timeMs: NOW_MS, problems: [], tasks: [] }, NOW_MS);
  const drawn = drawScreen(board.picture(NOW_MS), view(), { columns: 200, rows: 60 }, unicode);
  expect(textOf(drawn.rows)[2]).not.toMatch(/PCIE|LINK|ENC|DEC|ENERGY|FAN/);
});

test("what bounds a GPU and its verdict are columns where one is known, n/a where it is not", () => {
  const board = new FeedState({ from: "node1", origin: "local", intervalMs: 1_000 });
  const rows = [
    rowOf({ up: 1, utilization: 1, healthState: 0 }, { bound: "memory" }),
    rowOf({ up: 1, utilization: 1, healthState: 2 }, { bound: "thermal" }),
    rowOf({ up: 1, utilization: 1 }),
  ];
  const devices = rows.map((_, at) => deviceOf(at, { gpus: 3 }));
  board.update({ devices, rows, timeMs: NOW_MS, problems: [], tasks: [] }, NOW_MS);
  const size = { columns: 200, rows: 60 };
  const text = textOf(drawScreen(board.picture(NOW_MS), view(), size, unicode).rows);
  expect(text[2]).toMatch(/ BOUND +HEALTH +STATE/);
  expect(text[3]).toMatch(/ memory +healthy /);
  expect(text[4]).toMatch(/ thermal +failing /);
  expect(text[5]).toMatch(/ n\/a +n\/a /);
});

test("the details mark a link below what card and slot can do", () => {
  const details = (gpu: number): string =>
    lines(8, { page: "details", gpu: `GPU-000${gpu}@node1` }).join("\n");
  expect(details(0)).toMatch(/PCIe generation +5\s/);
  expect(details(0)).toMatch(/PCIe width +x16\s/);
  expect(details(1)).toMatch(/PCIe width +x8 of x16\s/);
  expect(details(0)).toMatch(/energy counter +1\.00MWh\s/);
  expect(details(4)).not.toMatch(/PCIe width +x/);
});

test("a lost GPU says so, in its line and in the sum", () => {
  expect(lines(8)[1]).toContain("1 lost");
  expect(lines(8).find((line) => /^ +3 /.test(line))).toContain("lost");
});

test("simulated numbers are called simulated", () => {
  const picture = pictureOf({ gpus: 2, simulated: true });
  const [title] = textOf(drawScreen(picture, view(), { columns: 80, rows: 24 }, unicode).rows);
  expect(title).toContain("SIMULATED");
  expect(lines(2)[0]).not.toContain("SIMULATED");
});

test("a dead agent's numbers are lost, with their age and when it is tried again", () => {
  const board = feedStateOf({ gpus: 2, origin: "agent" });
  board.link({ kind: "lost", why: "connection refused", retryAtMs: NOW_MS + 15_000 });
  const picture = board.picture(NOW_MS + 12_000);
  const text = textOf(drawScreen(picture, view(), { columns: 120, rows: 24 }, unicode).rows);
  expect(text[1]).toContain("LOST, values are 12 s old · retry in 3 s · connection refused");
  expect(text.find((line) => /^ +0 /.test(line))).toContain("12 s old");
});

test("silence without a broken line is said too", () => {
  const picture = feedStateOf({ gpus: 2 }).picture(NOW_MS + 9_000);
  const text = textOf(drawScreen(picture, view(), { columns: 80, rows: 24 }, unicode).rows);
  expect(text[1]).toContain("SILENT for 9 s");
});

test("the filter leaves what holds all its words, and says of how many", () => {
  const text = lines(8, { filter: "thermal h200" });
  expect(text[0]).toContain("1 of 8 GPUs");
  expect(text.filter((line) => /^ +\d H200/.test(line))).toHaveLength(1);
});

test("the sums follow the filter", () => {
  const power = (filter: string): number =>
    Number(/power ([\d.]+) W/.exec(lines(8, { filter })[1] ?? "")?.[1]);
  expect(power("gpu1")).toBeGreaterThan(0);
  expect(power("gpu1")).toBeLessThan(power(""));
  expect(lines(8, { filter: "nosuch" })[1]).toContain("no GPU matches the filter");
});

test("a question takes the last line", () => {
  const target = { pid: 41, startTicks: "9", name: "python" };
  const text = lines(1, { question: { signal: "SIGTERM", target } });
  expect(text.at(-1)).toContain("Send SIGTERM to python (pid 41)?");
});
