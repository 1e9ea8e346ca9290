/** Short messages about recent actions, removed after a while. The shell shows them. */
import { signal } from "@preact/signals";

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly level: "note" | "bad";
}

const SHOWN_MS = 6_000;
let last = 0;

export const toasts = signal<readonly Toast[]>([]);

export function toast(text: string, level: Toast["level"] = "note"): void {
  last += 1;
  const id = last;
  toasts.value = [...toasts.value, { id, text, level }];
  setTimeout(() => forget(id), SHOWN_MS);
}

export function forget(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}
