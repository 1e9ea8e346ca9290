/**
 * How eagerly V8 compiles. A program that works a few milliseconds a second pays more for its compilers, in memory and
 * processor time, than they bring. What is computed never depends on it.
 */
import v8 from "node:v8";

const lookEveryMs = 20_000;
/** Of one core. Compiling could save half of it at most. */
const littleWork = 0.015;

/** What `bin/gpulse` turned off before the agent was loaded. */
const asUsual = [
  "--opt",
  "--maglev",
  "--sparkplug",
  "--semi-space-growth-factor=2",
  "--no-optimize-for-size",
];

/**
 * The agent begins without compilers, and gets them when it has more than a little to do. With eight GPUs at 1 s it never
 * does: 55 MiB instead of 61, and as much processor time as with compiled code.
 */
export function compileWhenBusy(): void {
  for (const flag of ["--no-opt", "--no-maglev", "--no-sparkplug"]) v8.setFlagsFromString(flag);
  let before: NodeJS.CpuUsage | undefined;
  const timer = setInterval(() => {
    const now = process.cpuUsage();
    // Starting up is not what it does every second.
    const spentMs = before === undefined ? 0 : busyMs(now) - busyMs(before);
    before = now;
    if (spentMs < littleWork * lookEveryMs) return;
    clearInterval(timer);
    for (const flag of asUsual) v8.setFlagsFromString(flag);
  }, lookEveryMs).unref();
}

const busyMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;

/**
 * Compiles what has run twenty times as much as V8 asks for: code that runs once a second is hot only after minutes. Only
 * Node 20's V8 knows this way to say it, and a newer one would complain to the terminal.
 */
export function compileLate(): void {
  if (process.versions.v8.startsWith("11.")) v8.setFlagsFromString("--interrupt-budget=1351680");
}
