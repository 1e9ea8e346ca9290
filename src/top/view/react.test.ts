import { expect, test } from "vitest";
import { gpuId } from "../../view/gpu.ts";
import { pictureOf, taskOf } from "../../../test/fixtures/top/top.ts";
import { drawScreen } from "../screen/screen.ts";
import { parseInput, type TerminalEvent } from "../terminal/input.ts";
import { unicode } from "../text/glyphs.ts";
import { react, type Reaction } from "./react.ts";
import { firstView, type View } from "./view.ts";

const tasks = [
  taskOf(300, { startTicks: "77", ancestors: [] }),
  taskOf(200, { startTicks: "78", ancestors: [], user: "ben" }),
];
const picture = pictureOf({ gpus: 8, tasks });

/** Types into the real screen, byte by byte, as a terminal would. */
function typed(bytes: string, start: View = firstView, whyNoSignals?: string): Reaction {
  let reaction: Reaction = { view: start };
  const events: readonly TerminalEvent[] = parseInput(bytes, true).events;
  for (const event of events) {
    const screen = drawScreen(picture, reaction.view, { columns: 120, rows: 30 }, unicode);
    reaction = react(reaction.view, event, {
      gpus: screen.arranged.gpus,
      tasks: screen.taskOrder,
      hits: screen.hits,
      whyNoSignals,
    });
  }
  return reaction;
}

const ESC = "\u001b";

test.each<[string, string, Partial<View>]>([
  ["?", "opens help", { page: "help" }],
  ["??", "closes help again", { page: "overview" }],
  ["2", "is the heatmap", { page: "heatmap" }],
  ["3", "is the processes", { page: "tasks", focus: "tasks" }],
  [
    "\r",
    "opens the chosen GPU",
    { page: "details", gpu: gpuId({ host: "node1", uuid: "GPU-0000" }) },
  ],
  [
    `${ESC}[B${ESC}[B\r`,
    "opens the third GPU",
    { page: "details", gpu: gpuId({ host: "node1", uuid: "GPU-0002" }) },
  ],
  [`\r${ESC}`, "goes back", { page: "overview" }],
  [`${ESC}[F`, "goes to the last", { gpu: gpuId({ host: "node1", uuid: "GPU-0007" }) }],
  [`${ESC}[6~${ESC}[5~`, "pages down and up", { gpu: gpuId({ host: "node1", uuid: "GPU-0000" }) }],
  ["\t", "goes to the processes", { focus: "tasks" }],
  ["u", "sorts by utilisation", { gpuSort: { key: "util", isDescending: true } }],
  ["ur", "turns the sort round", { gpuSort: { key: "util", isDescending: false } }],
  [">", "sorts by the next column", { gpuSort: { key: "model", isDescending: false } }],
  ["\tg", "sorts processes by GPU", { taskSort: { key: "gpu", isDescending: false } }],
  ["/ad q", "types into the filter", { filter: "ad q", isTyping: true }],
  ["/ab\u007fc\r", "keeps the filter", { filter: "ac", isTyping: false }],
  [`/ab${ESC}`, "clears the filter", { filter: "", isTyping: false }],
  [" ", "pauses", { isPaused: true }],
  ["t", "is the tree", { isTree: true }],
  ["v", "is the next heat", { heat: "memory" }],
])("%j %s", (bytes, _, wanted) => expect(typed(bytes).view).toMatchObject(wanted));

test.each([
  ["q", "quit"],
  ["\u0003", "quit"],
  ["/q\u0003", "quit"],
  ["\u001a", "suspend"],
  ["\f", "redraw"],
  ["o", "next-theme"],
])("%j asks for %s", (bytes, kind) => expect(typed(bytes).effect?.kind).toBe(kind));

test("a process is ended only after a yes", () => {
  const asked = typed("\tk");
  expect(asked.effect).toBeUndefined();
  expect(asked.view.question).toEqual({
    signal: "SIGTERM",
    target: { pid: 300, startTicks: "77", name: "python" },
  });
  expect(typed("y", asked.view).effect).toEqual({
    kind: "signal",
    question: asked.view.question,
  });
});

test.each(["n", "\r", " ", ESC, "k", "q", `${ESC}[<0;5;5M`])(
  "%j is no yes, and nothing is sent",
  (bytes) => {
    const { view, effect } = typed(bytes, typed("\tk").view);
    expect(effect).toBeUndefined();
    expect(view).toMatchObject({ question: undefined, notice: "No signal was sent to pid 300." });
  },
);

test("processes of another machine are not asked about", () => {
  const { view } = typed("\tk", firstView, "They are elsewhere.");
  expect(view).toMatchObject({ question: undefined, notice: "They are elsewhere." });
});

test("a process whose start is not known is not asked about", () => {
  const without = [taskOf(300)];
  const event: TerminalEvent = { kind: "text", text: "k" };
  const { view } = react({ ...firstView, focus: "tasks" }, event, {
    gpus: [],
    tasks: without,
    hits: [],
    whyNoSignals: undefined,
  });
  expect(view.question).toBeUndefined();
});

test("a click chooses a line, a second one opens it, one on the head sorts", () => {
  const at = (column: number, row: number): string =>
    `${ESC}[<0;${column};${row}M${ESC}[<0;${column};${row}m`;
  expect(typed(at(10, 6)).view).toMatchObject({
    gpu: gpuId({ host: "node1", uuid: "GPU-0002" }),
    page: "overview",
  });
  expect(typed(at(10, 6) + at(10, 6)).view).toMatchObject({
    gpu: gpuId({ host: "node1", uuid: "GPU-0002" }),
    page: "details",
  });
  const utilColumn = 16;
  expect(typed(at(utilColumn, 3)).view.gpuSort).toEqual({ key: "util", isDescending: true });
});

test("the wheel moves three lines", () => {
  expect(typed(`${ESC}[<65;10;5M`).view.gpu).toBe(gpuId({ host: "node1", uuid: "GPU-0003" }));
  expect(typed(`${ESC}[<65;10;5M${ESC}[<64;10;5M`).view.gpu).toBe(
    gpuId({ host: "node1", uuid: "GPU-0000" }),
  );
});

test("what is not whole yet waits for the rest", () => {
  expect(parseInput(`${ESC}[<0;1`)).toEqual({ events: [], rest: `${ESC}[<0;1` });
  expect(parseInput(ESC)).toEqual({ events: [], rest: ESC });
  expect(parseInput(ESC, true).events).toEqual([{ kind: "key", name: "escape" }]);
});
