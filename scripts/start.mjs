// `npm start`: brings the checkout up to date, then becomes `gpulse up` in this same process, so that signals and
// the exit code are the program's own and a second start costs nothing.

import path from "node:path";
import { pathToFileURL } from "node:url";

import { bootstrap, root } from "./bootstrap.mjs";
import { runMain } from "./progress.mjs";

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
