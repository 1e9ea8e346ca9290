/** Starts the page. */
import { render } from "preact";
import { startKeys } from "./app/keys.ts";
import { Shell } from "./app/shell.tsx";
import { startShortcuts } from "./app/shortcuts.ts";
import { startTitle } from "./app/title.ts";
import { startLive } from "./live/feed.ts";
import { loadMe } from "./query/me.ts";
import { startAddress } from "./view-state/address.ts";
import { startPreferences } from "./view-state/preferences.ts";
import { startTime } from "./view-state/time.ts";

startAddress();
startPreferences();
startTitle();
startKeys();
startShortcuts();
startLive("api/live");
void loadMe();
startTime();

const root = document.querySelector("#app");
if (root !== null) render(<Shell />, root);
