// `npm start`: brings the checkout up to date, then becomes `gpulse up` in this same process, so that signals and
// the exit code are the program's own and a second start costs nothing.

import path from "node:path";
import { pathToFileURL } from "node:url";

import { bootstrap, root } from "./bootstrap.mjs";
import { runMain } from "./progress.mjs";

const PARENT_POLL_MS = 250;

/**
 * npm runs a script through a shell and sends its own SIGTERM to that shell only, which ends without passing it on:
 * so the shell's end is our signal to stop.
 */
function stopWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, PARENT_POLL_MS);
  timer.unref();
}

if (process.env.npm_lifecycle_event !== undefined) stopWithParent();
let ready = false;
await runMain(async () => {
  await bootstrap();
  ready = true;
});
if (ready) {
  process.argv = [
    process.execPath,
    path.join(root, "bin", "gpulse"),
    "up",
    ...process.argv.slice(2),
  ];
  await import(pathToFileURL(path.join(root, "dist", "gpulse", "main.js")).href);
}
