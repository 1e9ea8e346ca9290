/** Maps a key or click to the next view and an effect. Pure; no process is ended without a confirmation. */
import {
  type GpuSort,
  gpuSorts,
  startsDescending,
  type TaskSort,
  taskSorts,
  type TopSort,
} from "../model/arrange.ts";
import { type Gpu, gpuId } from "../../view/gpu.ts";
import { type GpuTask, taskName } from "../model/process.ts";
import type { TerminalEvent } from "../terminal/input.ts";
import { heatMetrics, type Hit, type SignalPrompt, type TopPage, type View } from "./view.ts";

/** The contents of the last screen. */
export interface ScreenContents {
  /** In screen order, after the filter. */
  readonly gpus: readonly Gpu[];
  readonly tasks: readonly GpuTask[];
  readonly hits: readonly Hit[];
  /** Why processes cannot be ended from here; undefined if they can. */
  readonly whyNoSignals: string | undefined;
}

export type Effect =
  | { readonly kind: "quit" }
  | { readonly kind: "suspend" }
  | { readonly kind: "redraw" }
  | { readonly kind: "next-theme" }
  | { readonly kind: "signal"; readonly question: SignalPrompt };

export interface Reaction {
  readonly view: View;
  readonly effect?: Effect;
}

export function react(view: View, event: TerminalEvent, shown: ScreenContents): Reaction {
  const calm: View = view.notice === undefined ? view : { ...view, notice: undefined };
  if (event.kind === "key" && event.name === "ctrl-c") return { view, effect: { kind: "quit" } };
  if (event.kind === "key" && event.name === "ctrl-z") return { view, effect: { kind: "suspend" } };
  if (event.kind === "key" && event.name === "ctrl-l") return { view, effect: { kind: "redraw" } };
  if (calm.question !== undefined) return answer(calm, calm.question, event);
  if (calm.isTyping) return type(calm, event, shown);
  if (event.kind === "click") return { view: click(calm, event.column, event.row, shown) };
  if (event.kind === "wheel") return { view: wheel(calm, event, shown) };
  return event.kind === "text"
    ? letter(calm, event.text, shown)
    : { view: press(calm, event.name, shown) };
}

/** Only a typed y confirms; a click or any other key cancels. */
function answer(view: View, question: SignalPrompt, event: TerminalEvent): Reaction {
  const next: View = { ...view, question: undefined };
  if (event.kind === "text" && (event.text === "y" || event.text === "Y"))
    return { view: next, effect: { kind: "signal", question } };
  return { view: { ...next, notice: `No signal was sent to pid ${question.target.pid}.` } };
}

function type(view: View, event: TerminalEvent, shown: ScreenContents): Reaction {
  if (event.kind === "text")
    return { view: { ...view, filter: (view.filter + event.text).slice(0, 200) } };
  if (event.kind !== "key") return { view };
  switch (event.name) {
    case "enter":
      return { view: { ...view, isTyping: false } };
    case "escape":
      return { view: { ...view, isTyping: false, filter: "" } };
    case "backspace":
      return { view: { ...view, filter: Array.from(view.filter).slice(0, -1).join("") } };
    case "ctrl-u":
      return { view: { ...view, filter: "" } };
    default:
      return { view: press(view, event.name, shown) };
  }
}

function letter(view: View, text: string, shown: ScreenContents): Reaction {
  const page = (next: TopPage): Reaction => ({ view: { ...view, page: next } });
  switch (text) {
    case "q":
      return { view, effect: { kind: "quit" } };
    case "?":
    case "h":
      return page(view.page === "help" ? "overview" : "help");
    case "1":
      return page("overview");
    case "2":
      return page("heatmap");
    case "3":
      return { view: { ...view, page: "tasks", focus: "tasks" } };
    case "/":
      return { view: { ...view, isTyping: true } };
    case " ":
      return { view: { ...view, isPaused: !view.isPaused } };
    case "t":
      return { view: { ...view, isTree: !view.isTree } };
    case "v":
      return { view: { ...view, heat: after(heatMetrics, view.heat, 1) } };
    case "o":
      return { view, effect: { kind: "next-theme" } };
    case "r":
      return { view: reverse(view) };
    case "<":
    case ">":
      return { view: moveSort(view, text === "<" ? -1 : 1) };
    case "g":
    case "u":
    case "m":
    case "w":
    case "c":
      return { view: sortByLetter(view, text) };
    case "k":
      return { view: ask(view, shown) };
    default:
      return { view };
  }
}

function press(view: View, name: string, shown: ScreenContents): View {
  switch (name) {
    case "up":
      return move(view, -1, shown);
    case "down":
      return move(view, 1, shown);
    case "pageup":
      return move(view, -10, shown);
    case "pagedown":
      return move(view, 10, shown);
    case "home":
      return move(view, -Infinity, shown);
    case "end":
      return move(view, Infinity, shown);
    case "left":
      return view.page === "heatmap" ? move(view, -1, shown) : moveSort(view, -1);
    case "right":
      return view.page === "heatmap" ? move(view, 1, shown) : moveSort(view, 1);
    case "tab":
    case "backtab":
      return { ...view, focus: view.focus === "gpus" ? "tasks" : "gpus" };
    case "f1":
      return { ...view, page: "help" };
    case "enter":
      return enter(view, shown);
    case "escape":
      if (view.page !== "overview") return { ...view, page: "overview" };
      return { ...view, filter: "" };
    default:
      return view;
  }
}

/** Opens the selected GPU, or the GPU of the selected task. */
function enter(view: View, { gpus, tasks }: ScreenContents): View {
  if (view.page === "details") return { ...view, page: "overview" };
  const task = tasks.find(({ key }) => key === view.task) ?? tasks[0];
  const first = gpus[0] === undefined ? undefined : gpus[0].id;
  const ofTask = task === undefined ? undefined : gpuId(task);
  const gpu = view.focus === "tasks" ? ofTask : (view.gpu ?? first);
  return gpu === undefined ? view : { ...view, page: "details", gpu };
}

function move(view: View, by: number, { gpus, tasks }: ScreenContents): View {
  if (view.focus === "tasks" && view.page !== "heatmap" && view.page !== "details")
    return {
      ...view,
      task: step(
        tasks.map((task) => task.key),
        view.task,
        by,
      ),
    };
  return {
    ...view,
    gpu: step(
      gpus.map(({ id }) => id),
      view.gpu,
      by,
    ),
  };
}

function step(keys: readonly string[], now: string | undefined, by: number): string | undefined {
  const at = now === undefined ? 0 : Math.max(0, keys.indexOf(now));
  return keys[Math.min(keys.length - 1, Math.max(0, at + by))];
}

function after<Key>(keys: readonly Key[], now: Key, by: number): Key {
  return keys[(keys.indexOf(now) + by + keys.length) % keys.length] ?? now;
}

const sorted = <Key extends GpuSort | TaskSort>(key: Key): TopSort<Key> => ({
  key,
  isDescending: startsDescending(key),
});

function moveSort(view: View, by: -1 | 1): View {
  return view.focus === "gpus"
    ? { ...view, gpuSort: sorted(after(gpuSorts, view.gpuSort.key, by)) }
    : { ...view, taskSort: sorted(after(taskSorts, view.taskSort.key, by)) };
}

function reverse(view: View): View {
  const { gpuSort, taskSort } = view;
  return view.focus === "gpus"
    ? { ...view, gpuSort: { ...gpuSort, isDescending: !gpuSort.isDescending } }
    : { ...view, taskSort: { ...taskSort, isDescending: !taskSort.isDescending } };
}

const gpuLetters = { g: "gpu", u: "util", m: "memory", w: "power", c: "temp" } as const;
const taskLetters = { g: "gpu", u: "util", m: "memory", w: undefined, c: "container" } as const;

function sortByLetter(view: View, text: keyof typeof gpuLetters): View {
  if (view.focus === "gpus") return { ...view, gpuSort: sorted(gpuLetters[text]) };
  const chosen = taskLetters[text];
  return chosen === undefined ? view : { ...view, taskSort: sorted(chosen) };
}

function ask(view: View, { tasks, whyNoSignals }: ScreenContents): View {
  if (whyNoSignals !== undefined) return { ...view, notice: whyNoSignals };
  if (view.focus !== "tasks") return { ...view, notice: "Select a process first: press Tab." };
  const task = tasks.find(({ key }) => key === view.task) ?? tasks[0];
  if (task === undefined) return { ...view, notice: "There is no process to end." };
  if (task.pid === undefined || task.startTicks === undefined)
    return {
      ...view,
      notice: `${taskName(task)} cannot be ended: its pid on this machine is not known.`,
    };
  const target = { pid: task.pid, startTicks: task.startTicks, name: taskName(task) };
  return { ...view, task: task.key, question: { signal: "SIGTERM", target } };
}

function click(view: View, column: number, row: number, shown: ScreenContents): View {
  const hit = shown.hits.find((one) => one.row === row && column >= one.from && column < one.to);
  switch (hit?.kind) {
    case "gpu":
      // A second click on the selected GPU opens it.
      return view.focus === "gpus" && view.gpu === hit.gpu && view.page !== "details"
        ? { ...view, page: "details" }
        : { ...view, focus: "gpus", gpu: hit.gpu };
    case "task":
      return { ...view, focus: "tasks", task: hit.key };
    case "gpu-sort":
      return view.gpuSort.key === hit.key
        ? reverse({ ...view, focus: "gpus" })
        : { ...view, focus: "gpus", gpuSort: sorted(hit.key) };
    case "task-sort":
      return view.taskSort.key === hit.key
        ? reverse({ ...view, focus: "tasks" })
        : { ...view, focus: "tasks", taskSort: sorted(hit.key) };
    case undefined:
      return view.page === "help" ? { ...view, page: "overview" } : view;
  }
}

/** The wheel scrolls the table under the pointer. */
function wheel(
  view: View,
  event: { readonly lines: number; readonly row: number },
  shown: ScreenContents,
): View {
  const firstTaskRow = shown.hits.find(({ kind }) => kind === "task-sort")?.row ?? Infinity;
  const focus =
    view.page === "overview" ? (event.row >= firstTaskRow ? "tasks" : "gpus") : view.focus;
  return move({ ...view, focus }, event.lines * 3, shown);
}
