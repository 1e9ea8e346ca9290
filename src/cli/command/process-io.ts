/** The real process environment of a command. */
import type { CommandIo } from "./io.ts";

declare const __GPULSE_VERSION__: string | undefined;

export const version = typeof __GPULSE_VERSION__ === "string" ? __GPULSE_VERSION__ : "0.0.0-dev";

export function processIo(): CommandIo {
  const reloads: (() => void)[] = [];
  const atTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  return {
    onReload: (reload) => void reloads.push(reload),
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    version,
    stopped: () =>
      new Promise((resolve) => {
        for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
          let seen = false;
          process.on(signal, () => {
            if (signal === "SIGHUP" && !atTerminal && reloads.length > 0)
              return reloads.forEach((reload) => reload());
            // A second signal exits at once, without waiting for pending work.
            if (seen) process.exit(130);
            seen = true;
            resolve(signal);
          });
        }
      }),
  };
}
