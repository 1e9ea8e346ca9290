/** The entries of the command palette and their actions. */
import { catalogue } from "../../../src/model/catalogue/index.ts";
import { fleet } from "../live/feed.ts";
import { gpuId, nameOf } from "../../../src/view/gpu.ts";
import { toast } from "../ui/toast.ts";
import { goTo } from "../view-state/address.ts";
import { presets } from "../view-state/range.ts";
import { density, theme } from "../view-state/preferences.ts";
import { goLive, pickerOpen, refresh, setRange, shift, zoomOut } from "../view-state/time.ts";
import { docsHref, isShared, me } from "../query/me.ts";
import { accountDialog } from "./account.tsx";
import { helpOpen } from "./help.tsx";
import { routes } from "./routes.ts";

export interface PaletteEntry {
  readonly kind: "page" | "GPU" | "host" | "metric" | "range" | "action";
  readonly label: string;
  /** Also searched; shown after the label. */
  readonly more?: string;
  readonly run: () => void;
}

const MOST_SHOWN = 50;

export function paletteEntries(): readonly PaletteEntry[] {
  const devices = fleet.peek()?.devices ?? [];
  const hosts = [...new Set(devices.map(({ host }) => host))];
  return [
    ...routes
      .filter(({ name }) => name !== "system" || !isShared.peek())
      .map(({ name, label }): PaletteEntry => ({ kind: "page", label, run: () => goTo(name) })),
    ...actions,
    ...(me.peek()?.mayManage === true ? [share] : []),
    ...openDocs(docsHref.peek()),
    ...presets.map(({ ms, says, text }): PaletteEntry => ({
      kind: "range",
      label: says,
      more: text,
      run: () => setRange({ kind: "last", ms }),
    })),
    ...devices.map((device): PaletteEntry => ({
      kind: "GPU",
      label: nameOf({ device }),
      more: `${device.host} · ${device.uuid}`,
      run: () => goTo("gpu", { uuid: gpuId(device) }),
    })),
    ...hosts.map((host): PaletteEntry => ({
      kind: "host",
      label: host,
      run: () => goTo("host", { host }),
    })),
    ...catalogue.map(({ name, help }): PaletteEntry => ({
      kind: "metric",
      label: name,
      more: help,
      run: () => goTo("explore", { expr: name }),
    })),
  ];
}

const openDocs = (href: string | undefined): readonly PaletteEntry[] =>
  href === undefined
    ? []
    : [{ kind: "page", label: "Docs", more: "documentation", run: () => location.assign(href) }];

const actions: readonly PaletteEntry[] = [
  {
    kind: "action",
    label: "Choose a time range",
    run: () => openSoon(() => (pickerOpen.value = true)),
  },
  { kind: "action", label: "Go live", run: goLive },
  { kind: "action", label: "Pause", more: "stop refreshing", run: () => (refresh.value = "off") },
  { kind: "action", label: "Zoom out", run: zoomOut },
  { kind: "action", label: "Back in time", run: () => shift(-1) },
  { kind: "action", label: "Forward in time", run: () => shift(1) },
  { kind: "action", label: "Theme: dark", run: () => (theme.value = "dark") },
  { kind: "action", label: "Theme: light", run: () => (theme.value = "light") },
  { kind: "action", label: "Theme: as the system", run: () => (theme.value = "auto") },
  { kind: "action", label: "Dense rows", run: () => (density.value = "compact") },
  { kind: "action", label: "Comfortable rows", run: () => (density.value = "comfortable") },
  { kind: "action", label: "Copy a link to this view", run: () => void copyLink() },
  { kind: "action", label: "Keyboard help", run: () => openSoon(() => (helpOpen.value = true)) },
];

const share: PaletteEntry = {
  kind: "action",
  label: "Share this view",
  more: "a read-only link that ends",
  run: () => openSoon(() => (accountDialog.value = "share")),
};

/** The palette returns the focus when it closes, so that an action that takes the focus has to run afterwards. */
const openSoon = (open: () => void): void => void setTimeout(open, 0);

async function copyLink(): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href);
    toast("The link is in the clipboard.");
  } catch {
    toast("The browser does not let this page use the clipboard: copy the address instead.", "bad");
  }
}

/** Returns the entries that contain every word; those that start with it come first. */
export function matchEntries(all: readonly PaletteEntry[], typed: string): readonly PaletteEntry[] {
  const words = typed
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return all.filter(({ kind }) => kind !== "metric").slice(0, MOST_SHOWN);
  return all
    .flatMap((entry) => {
      const label = entry.label.toLowerCase();
      const text = `${entry.kind} ${label} ${entry.more ?? ""}`.toLowerCase();
      if (!words.every((word) => text.includes(word))) return [];
      const first = words[0] ?? "";
      const rank = label.startsWith(first) ? 0 : label.includes(first) ? 1 : 2;
      return [{ entry, rank }];
    })
    .sort((one, other) => one.rank - other.rank)
    .slice(0, MOST_SHOWN)
    .map(({ entry }) => entry);
}
