/** Starts the page. */
import { render } from "preact";
import { startKeys } from "./page/keys.ts";
import { startLive } from "./page/live.ts";
import { startTastes, startView } from "./page/view.ts";
import { App } from "./view/app.tsx";

startTastes();
startView();
startKeys();
startLive("api/live");

const root = document.querySelector("#app");
if (root !== null) render(<App />, root);
