// `npm run stack -- report`: the state of a running stack as a document; --start starts a stack for it.

import { writeFile } from "node:fs/promises";

import { waitUntil } from "../../engines/wait.ts";
import { Engine } from "./ask.ts";
import { document } from "./document.ts";
import { measure } from "./measure.ts";
import { neededState, type StackState, urlAt } from "./place.ts";
import { openStack, type Stack, type StackOptions } from "./stack.ts";

export interface ReportOptions extends Omit<StackOptions, "onChange" | "say"> {
  readonly start: boolean;
  readonly settleMs: number;
  readonly out?: string;
  readonly json: boolean;
}

export async function report(options: ReportOptions): Promise<number> {
  if (!options.start) return write(neededState(options.dataDir), options);
  return withStack(options, async ({ state }) => {
    say("waiting until every target is up in Prometheus and in the hub");
    await allTargetsUp(state);
    say(`collecting for ${options.settleMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, options.settleMs));
    return write(state, options);
  });
}

async function write(state: StackState, { out, json }: ReportOptions): Promise<number> {
  const figures = await measure(state);
  const text = json
    ? `${JSON.stringify({ ...figures, state: { ...figures.state, control: undefined } }, null, 2)}\n`
    : document(figures);
  if (out === undefined) process.stdout.write(text);
  else {
    await writeFile(out, text);
    say(`written to ${out}`);
  }
  return 0;
}

/** Prints progress, separate from the document. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Runs a stack for the duration of some work; it is stopped in any case, also by a signal. */
export async function withStack<T>(
  options: Omit<StackOptions, "onChange" | "say">,
  work: (stack: Stack) => Promise<T>,
): Promise<T> {
  const stack = await openStack({
    ...options,
    say,
    onChange: ({ name, state, says }) => {
      if (["restarting", "unhealthy", "skipped"].includes(state)) say(`${name} ${state}: ${says}`);
    },
  });
  const asked = new Promise<never>((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
  const done = async (): Promise<T> => {
    await waitUntil({ what: "every service to answer", timeoutMs: 120_000 }, async () =>
      stack.isHealthy() ? true : undefined,
    );
    return work(stack);
  };
  try {
    return await Promise.race([done(), asked]);
  } finally {
    say("stopping all services");
    await stack.stop();
  }
}

export async function allTargetsUp(state: StackState, timeoutMs = 120_000): Promise<void> {
  const engines = [new Engine(urlAt(state.ports.prometheus)), new Engine(urlAt(state.ports.hub))];
  await waitUntil(
    { what: "every target to be up in Prometheus and the hub", timeoutMs },
    async () => {
      for (const engine of engines) {
        const targets = await engine.targets();
        const missing = targets.filter(({ health }) => health !== "up");
        if (targets.length === 0 || missing.length > 0)
          throw new Error(
            `not up: ${missing.map(({ job, lastError }) => `${job} ${lastError}`).join(", ")}`,
          );
      }
      return true;
    },
  );
}
