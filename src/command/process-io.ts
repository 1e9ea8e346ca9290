/** The real process as a command's outside world. */
import type { CommandIo } from "./io.ts";

declare const __GPULSE_VERSION__: string | undefined;

export const version = typeof __GPULSE_VERSION__ === "string" ? __GPULSE_VERSION__ : "0.0.0-dev";

export function processIo(): CommandIo {
  return {
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    version,
    stopped: () =>
      new Promise((resolve) => {
        for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
          let seen = false;
          process.on(signal, () => {
            // The second time the person means it: what still hangs is not waited for.
            if (seen) process.exit(130);
            seen = true;
            resolve(signal);
          });
        }
      }),
  };
}
