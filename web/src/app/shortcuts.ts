/** Keyboard shortcuts: every component registers its own keys, and the help sheet lists them, so that both always agree. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Shortcut {
  /** Values of `KeyboardEvent.key`; two keys in sequence are written as `g f`. */
  readonly keys: readonly string[];
  /** Shown on the help sheet instead, such as `1 … 9`. */
  readonly shown?: readonly string[];
  readonly says: string;
  /** True if the shortcut also works while a field has the focus. */
  readonly whileTyping?: boolean;
  /** Returns false to leave the key to the browser. */
  readonly run: (key: string, event: KeyboardEvent) => boolean | void;
}

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/** The newest group comes first, so that a page's keys override the shell's. */
export const groups = signal<readonly ShortcutGroup[]>([]);

export function addShortcuts(group: ShortcutGroup): () => void {
  groups.value = [group, ...groups.peek()];
  return () => {
    groups.value = groups.peek().filter((one) => one !== group);
  };
}

/** Registers a component's shortcuts for as long as it is shown. */
export function useShortcuts(title: string, shortcuts: readonly Shortcut[]): void {
  useEffect(() => addShortcuts({ title, shortcuts }), []);
}

const SEQUENCE_MS = 1_200;

export function startShortcuts(): void {
  let [pending, pendingUntilMs] = ["", 0];
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
    const typing = isTyping(event);
    const inTime = event.timeStamp < pendingUntilMs;
    const tries = pending !== "" && inTime ? [`${pending} ${event.key}`, event.key] : [event.key];
    pending = "";
    for (const keys of tries) {
      if (run(keys, typing, event)) {
        event.preventDefault();
        return;
      }
      if (!typing && begins(keys)) {
        [pending, pendingUntilMs] = [keys, event.timeStamp + SEQUENCE_MS];
        return;
      }
    }
  });
}

function run(keys: string, typing: boolean, event: KeyboardEvent): boolean {
  for (const { shortcuts } of groups.peek()) {
    for (const shortcut of shortcuts) {
      if (!shortcut.keys.includes(keys) || (typing && shortcut.whileTyping !== true)) continue;
      if (shortcut.run(keys, event) !== false) return true;
    }
  }
  return false;
}

const begins = (key: string): boolean =>
  groups
    .peek()
    .some(({ shortcuts }) =>
      shortcuts.some(({ keys }) => keys.some((one) => one.startsWith(`${key} `))),
    );

/** A shadow root, such as that of the editor, hides the real target. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLSelectElement ||
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLElement && target.isContentEditable)
  );
}
