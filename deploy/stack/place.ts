// The location of a stack: its data folder, its ports, the programs found, and its state file, by which the other commands find a
// running stack.

import { readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import type { Ports } from "./ports.ts";

export interface Place {
  readonly dataDir: string;
  readonly ports: Ports;
  /** Shortens waiting times of rules to seconds instead of minutes. */
  readonly quick: boolean;
  readonly without: readonly string[];
  /** How long a day of the load generator takes. */
  readonly daySeconds: number;
}

export interface StackState extends Place {
  readonly pid: number;
  readonly startedMs: number;
  readonly control: { readonly url: string; readonly token: string };
}

const fileOf = (dataDir: string): string => path.join(dataDir, "state.json");

export async function writeState(state: StackState): Promise<void> {
  const file = fileOf(state.dataDir);
  await mkdir(state.dataDir, { recursive: true });
  await writeFile(`${file}.next`, JSON.stringify(state, null, 2), { mode: 0o600 });
  await rename(`${file}.next`, file);
}

export async function removeState(dataDir: string): Promise<void> {
  await rm(fileOf(dataDir), { force: true });
}

/** The stack that runs with this data folder; undefined if there is none. */
export function runningState(dataDir: string): StackState | undefined {
  let text: string;
  try {
    text = readFileSync(fileOf(dataDir), "utf8");
  } catch {
    return undefined;
  }
  const state = JSON.parse(text) as StackState;
  return isAlive(state.pid) ? state : undefined;
}

/** @throws Error with instructions to start one. */
export function neededState(dataDir: string): StackState {
  const state = runningState(dataDir);
  if (state === undefined)
    throw new Error(
      `no stack runs with its data in ${dataDir}: start one with npm run stack, name its folder with --data, or add --start`,
    );
  return state;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export const at = (port: number): string => `127.0.0.1:${port}`;
export const urlAt = (port: number): string => `http://127.0.0.1:${port}`;
