// npm does not forward SIGTERM: the end of the npm that started us is our signal instead. Linux only; elsewhere, and without npm,
// nothing is watched.

import { readFileSync } from "node:fs";

const POLL_MS = 500;

/** Returns a function that ends the watch. */
export function watchStarter(onGone: () => void): () => void {
  const npm = process.env["npm_command"] === undefined ? undefined : npmAbove(process.ppid);
  if (npm === undefined) return () => undefined;
  const timer = setInterval(() => {
    if (parentOf(npm) !== undefined) return;
    clearInterval(timer);
    onGone();
  }, POLL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function npmAbove(pid: number): number | undefined {
  for (let one: number | undefined = pid; one !== undefined && one > 1; one = parentOf(one))
    if (/^npm\b/.test(read(`/proc/${one}/cmdline`) ?? "")) return one;
  return undefined;
}

function parentOf(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat === undefined
    ? undefined
    : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
