// A clock that can be set, for a gpulse process as it was built: a module that Node loads before it shifts the wall clock by what
// a file says. What measures durations (process.hrtime, performance.now) and timers stay true, as on a machine whose clock is set.

import { writeFileSync } from "node:fs";
import path from "node:path";

export interface SetClock {
  /** For the process whose clock it is. */
  readonly env: Readonly<Record<string, string>>;
  /** The offset to true time. */
  set(offsetMs: number): void;
}

/** Written beside the clock's file, since Node 20 reads no TypeScript. In worker threads too, which load what their process did. */
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
