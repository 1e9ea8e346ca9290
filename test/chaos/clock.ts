// A settable wall clock for a built gpulse process: a module that Node loads before it shifts the wall clock by the
// offset in a file. Monotonic clocks (process.hrtime, performance.now) and timers stay correct, as on a machine whose
// clock is set.

import { writeFileSync } from "node:fs";
import path from "node:path";

export interface SetClock {
  /** For the process with this clock. */
  readonly env: Readonly<Record<string, string>>;
  /** The offset to the true time. */
  set(offsetMs: number): void;
}

/** Written as a file beside the clock's, because Node 20 cannot load TypeScript. Worker threads load it as well. */
const hook = `
import { readFileSync } from "node:fs";
const RealDate = Date;
let offsetMs = 0;
const look = () => {
  try {
    offsetMs = Number(readFileSync(process.env.CHAOS_CLOCK_FILE, "utf8")) || 0;
  } catch {}
};
look();
setInterval(look, 50).unref();
const now = () => RealDate.now() + offsetMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  apply: (target) => new target(now()).toString(),
  get: (target, key, receiver) => (key === "now" ? now : Reflect.get(target, key, receiver)),
});
`;

export function clockIn(folder: string, name: string): SetClock {
  const file = path.join(folder, `${name}.clock`);
  const module = path.join(folder, "clock-hook.mjs");
  const set = (offsetMs: number): void => writeFileSync(file, String(offsetMs));
  set(0);
  writeFileSync(module, hook);
  return { env: { NODE_OPTIONS: `--import=file://${module}`, CHAOS_CLOCK_FILE: file }, set };
}
