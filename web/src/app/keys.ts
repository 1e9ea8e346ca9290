/** Keyboard shortcuts of every page. */
import { goTo } from "../view-state/address.ts";
import { density } from "../view-state/preferences.ts";
import { goLive, pickerOpen, refreshNow, shift, zoomOut } from "../view-state/time.ts";
import { helpOpen } from "./help.tsx";
import { paletteOpen } from "./palette-loader.tsx";
import { routes, usesTime } from "./routes.ts";
import { addShortcuts } from "./shortcuts.ts";

export function startKeys(): void {
  addShortcuts({
    title: "Everywhere",
    shortcuts: [
      ...routes.map(({ name, label, key }) => ({
        keys: [`g ${key}`],
        says: label,
        run: () => goTo(name),
      })),
      {
        keys: ["t"],
        says: "time range",
        run: () => void (pickerOpen.value = usesTime.peek()),
      },
      {
        keys: ["[", "]"],
        says: "back and forward in time",
        run: (key) => shift(key === "[" ? -1 : 1),
      },
      { keys: ["-"], says: "zoom out", run: zoomOut },
      { keys: ["l"], says: "live: back to the present", run: goLive },
      { keys: ["r"], says: "refresh now", run: refreshNow },
      {
        keys: ["d"],
        says: "dense rows",
        run: () => {
          density.value = density.value === "compact" ? "comfortable" : "compact";
        },
      },
      // Ctrl and ⌘ are handled below; this entry only appears on the help sheet.
      { keys: [], shown: ["Ctrl K"], says: "search everything", run: () => false },
      { keys: ["?"], says: "this help", run: () => void (helpOpen.value = true) },
    ],
  });
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey)
      return;
    event.preventDefault();
    helpOpen.value = false;
    paletteOpen.value = !paletteOpen.value;
  });
}
