/** Starts the page. */
import { render } from "preact";
import { startKeys } from "./app/keys.ts";
import { loadPage } from "./app/page-view.tsx";
import { Shell } from "./app/shell.tsx";
import { startShortcuts } from "./app/shortcuts.ts";
import { startTitle } from "./app/title.ts";
import { startLive } from "./live/feed.ts";
import { readFirstLoad } from "./query/first-load.ts";
import { loadMe } from "./query/me.ts";
import { page, startAddress } from "./view-state/address.ts";
import { adoptStoredPreferences, startPreferences } from "./view-state/preferences.ts";
import { startTime } from "./view-state/time.ts";

/** After this time the frame is drawn without a page, to show progress. */
const LATE_MS = 200;

startAddress();
startPreferences();
startTitle();
startKeys();
startShortcuts();
startLive("api/live", readFirstLoad());
startTime();

const root = document.querySelector("#app");
let isDrawn = false;
const draw = (): void => {
  if (root === null || isDrawn) return;
  isDrawn = true;
  render(<Shell />, root);
  void loadMe();
  requestAnimationFrame(() => setTimeout(adoptStoredPreferences));
};
// Draws once, with the page in it; draws only the frame if the page's code is late.
loadPage(page.peek())
  .catch(() => undefined)
  .finally(draw);
setTimeout(draw, LATE_MS);
