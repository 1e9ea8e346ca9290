/**
 * Limits V8's compilers. For a program that works a few milliseconds per second they cost more memory and processor time than they
 * save. Results never depend on them.
 */
import v8 from "node:v8";

const lookEveryMs = 20_000;
/** Share of one core. Compiled code could save at most half of it. */
const littleWork = 0.015;

/** Turns on again what `bin/gpulse` turned off before the agent was loaded. */
const asUsual = [
  "--opt",
  "--maglev",
  "--sparkplug",
  "--semi-space-growth-factor=2",
  "--no-optimize-for-size",
];

/**
 * Starts the agent without compilers and turns them on under sustained load. With eight GPUs at 1 s that never happens: 55 MiB
 * instead of 61, and the same processor time as with compiled code.
 */
export function compileWhenBusy(): void {
  for (const flag of ["--no-opt", "--no-maglev", "--no-sparkplug"]) v8.setFlagsFromString(flag);
  let before: NodeJS.CpuUsage | undefined;
  const timer = setInterval(() => {
    const now = process.cpuUsage();
    // Processor time of the start-up does not count as load.
    const spentMs = before === undefined ? 0 : busyMs(now) - busyMs(before);
    before = now;
    if (spentMs < littleWork * lookEveryMs) return;
    clearInterval(timer);
    for (const flag of asUsual) v8.setFlagsFromString(flag);
  }, lookEveryMs).unref();
}

const busyMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;

/**
 * Delays compilation until code has run twenty times as much as V8 requires by default: code that runs once a second becomes hot
 * only after minutes. Only Node 20's V8 has this flag; a newer one would print a warning to the terminal.
 */
export function compileLate(): void {
  if (process.versions.v8.startsWith("11.")) v8.setFlagsFromString("--interrupt-budget=1351680");
}
