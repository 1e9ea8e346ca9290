/** The header: name, navigation, time range, connection state, and preferences. */
import type { ComponentChild } from "preact";
import { formatAge } from "../../../src/view/age.ts";
import { fleet, liveness, silentMs } from "../live/feed.ts";
import { hrefOf } from "../view-state/address.ts";
import { range } from "../view-state/time.ts";
import { theme, type ThemePreference } from "../view-state/preferences.ts";
import { Account } from "./account.tsx";
import { AlertBadge } from "./alert-badge.tsx";
import { helpOpen } from "./help.tsx";
import { Nav } from "./nav.tsx";
import { paletteOpen } from "./palette-loader.tsx";
import { usesTime } from "./routes.ts";
import { TimePicker } from "./time-picker.tsx";

export function Header() {
  return (
    <header class="top">
      <h1>
        <a href={hrefOf("fleet")}>
          <Mark />
          gpulse
        </a>
      </h1>
      <Nav />
      <span class="spacer" />
      <AlertBadge />
      <LiveState />
      {usesTime.value && <TimePicker />}
      <button
        type="button"
        class="quiet key"
        aria-label="Search pages, GPUs, metrics and actions"
        data-tip={`Search (${navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl "}K)`}
        onClick={() => {
          paletteOpen.value = true;
        }}
      >
        <Glass />
      </button>
      <fieldset class="choice theme">
        <legend class="unseen">Theme</legend>
        {themes.map(({ name, label, icon: shown }) => (
          <button
            key={name}
            type="button"
            aria-pressed={theme.value === name}
            aria-label={label}
            data-tip={label}
            onClick={() => {
              theme.value = name;
            }}
          >
            {shown}
          </button>
        ))}
      </fieldset>
      <button
        type="button"
        class="quiet key"
        aria-label="Keyboard help"
        data-tip="Keyboard help"
        onClick={() => {
          helpOpen.value = true;
        }}
      >
        ?
      </button>
      <Account />
    </header>
  );
}

function LiveState() {
  const state = liveness.value;
  const old = formatAge(silentMs.value);
  const isPast = usesTime.value && range.value.kind === "between";
  const says = {
    connecting: "Connecting…",
    live: isPast ? "Past" : "Live",
    // Short: a longer text would leave no room for the navigation on a laptop.
    stale: `Stale: ${old} old`,
    lost: fleet.value === undefined ? "Reconnecting…" : `Reconnecting: ${old} old`,
  }[state];
  return (
    <span class="live-state" data-state={state} data-past={isPast ? "" : undefined}>
      <span class="dot" aria-hidden="true" />
      <span>{says}</span>
      <span class="unseen" role="status">
        {state}
      </span>
    </span>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 16" aria-hidden="true">
      <path d="M1 9h5l2.5-7 4 13 3-8 1.5 2h6" />
    </svg>
  );
}

function Glass() {
  return (
    <svg class="glass" viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="7" cy="7" r="4.5" />
      <path d="m10.5 10.5 4 4" />
    </svg>
  );
}

const icon = (children: ComponentChild) => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    {children}
  </svg>
);

const themes: readonly { name: ThemePreference; label: string; icon: ComponentChild }[] = [
  {
    name: "auto",
    label: "Theme: as the system",
    icon: icon(
      <>
        <circle cx="8" cy="8" r="5.5" />
        <path class="filled" d="M8 2.5a5.5 5.5 0 0 1 0 11z" />
      </>,
    ),
  },
  {
    name: "light",
    label: "Theme: light",
    icon: icon(
      <>
        <circle cx="8" cy="8" r="2.8" />
        <path d="M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M3 13l1.2-1.2M11.8 4.2 13 3" />
      </>,
    ),
  },
  {
    name: "dark",
    label: "Theme: dark",
    icon: icon(<path d="M13.2 9.8A5.6 5.6 0 0 1 6.2 2.8a5.6 5.6 0 1 0 7 7z" />),
  },
];
