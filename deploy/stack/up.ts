// `npm run stack`: starts everything, displays it until it is stopped or its time is over, and stops everything. A terminal gets
// a table that is redrawn every second; a pipe gets one line per change.

import { setTimeout as sleep } from "node:timers/promises";

import { watchStarter } from "./starter.ts";
import { openStack, type Stack, type StackOptions } from "./stack.ts";
import type { Change } from "./supervisor.ts";
import { megabytes, renderTable, spell } from "./table.ts";

const POLL_MS = 200;
const DRAW_MS = 1_000;

export interface UpOptions extends Omit<StackOptions, "onChange" | "say"> {
  readonly durationMs?: number;
  readonly json: boolean;
}

/** Returns the exit code: 0 if everything was healthy when it was stopped. */
export async function up(options: UpOptions): Promise<number> {
  const live = process.stdout.isTTY && !options.json;
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const said: string[] = [];
  const emit = (event: string, fields: object, text: string): void => {
    if (options.json) print(JSON.stringify({ time: new Date().toISOString(), event, ...fields }));
    else if (live) said.push(text);
    else print(`${new Date().toISOString().slice(11, 19)} ${text}`);
  };
  let asked = false;
  const ask = (): void => void (asked = true);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, ask);
  const unwatch = watchStarter(ask);
  const stack = await openStack({
    ...options,
    onChange: (change) => emit("change", change, changeText(change)),
    say: (text) => emit("note", { text }, text),
  });
  if (live) process.stdout.write("\u001B[?1049h\u001B[?25l");
  let ready = false;
  let drawnMs = 0;
  try {
    for (;;) {
      if (!ready && stack.isHealthy()) {
        ready = true;
        emit("ready", { ports: stack.state.ports, dataDir: stack.state.dataDir }, whereText(stack));
      }
      const ranMs = Date.now() - stack.state.startedMs;
      if (asked || ranMs >= (options.durationMs ?? Infinity)) break;
      if (live && Date.now() - drawnMs >= DRAW_MS) {
        drawnMs = Date.now();
        process.stdout.write(
          `\u001B[H${drawn(stack, options.quick, said).replaceAll("\n", "\u001B[K\n")}\u001B[J`,
        );
      }
      await sleep(POLL_MS);
    }
  } finally {
    if (live) process.stdout.write("\u001B[?25h\u001B[?1049l");
  }
  const wasHealthy = stack.isHealthy();
  const rows = stack.rows();
  emit("stopping", { wasHealthy }, "stopping all services in reverse order");
  if (live) print("stopping all services in reverse order");
  await stack.stop();
  unwatch();
  const ill = rows.filter(({ state }) => state !== "healthy" && state !== "skipped");
  const words = wasHealthy
    ? `stopped; all services were healthy after ${spell(Date.now() - stack.state.startedMs)}`
    : `stopped; not healthy at the end: ${ill.map(({ name, state }) => `${name} (${state})`).join(", ")}`;
  emit("stopped", { wasHealthy }, words);
  if (live) print(words);
  return wasHealthy ? 0 : 1;
}

function changeText({ name, state, says }: Change): string {
  return `${name} ${state}${says === "" ? "" : `: ${says}`}`;
}

function whereText({ state: { ports, dataDir } }: Stack): string {
  return `all services are healthy: hub http://127.0.0.1:${ports.hub}, Prometheus http://127.0.0.1:${ports.prometheus}, data and logs in ${dataDir}`;
}

function drawn(stack: Stack, quick: boolean, said: readonly string[]): string {
  const rows = stack.rows();
  const { ports, startedMs, dataDir } = stack.state;
  const healthy = rows.filter(({ state }) => state === "healthy").length;
  const wanted = rows.filter(({ state }) => state !== "skipped").length;
  const total = rows.reduce((sum, { usage }) => sum + (usage?.pssBytes ?? 0), 0);
  const { columns, rows: lines } = process.stdout;
  return renderTable({
    rows,
    nowMs: Date.now(),
    columns,
    lines,
    colour: process.env["NO_COLOR"] === undefined,
    title: `gpulse stack   ${healthy} of ${wanted} healthy   up ${spell(Date.now() - startedMs)}   ${megabytes(total)} of memory (PSS)${quick ? "   quick rules: waiting times are seconds" : ""}`,
    footer: [
      `hub http://127.0.0.1:${ports.hub}   Prometheus http://127.0.0.1:${ports.prometheus}   mail http://127.0.0.1:${ports.mailbox}/messages   traces http://127.0.0.1:${ports.traces}/traces`,
      `npm run stack -- report | drill | soak   logs in ${dataDir}/logs   Ctrl-C stops all`,
      said.at(-1) ?? "",
    ],
  });
}
