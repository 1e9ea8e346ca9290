/** A line across the page: a problem with its fix, or information. */
import type { ComponentChildren } from "preact";

export interface BannerProps {
  readonly level: "note" | "warn" | "bad" | "good";
  /** The message in a few words. */
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
  /** Buttons and links at its end. */
  readonly actions?: ComponentChildren;
}

export function Banner({ level, title, children, actions }: BannerProps) {
  return (
    <div class="banner" data-level={level} role={level === "bad" ? "alert" : "status"}>
      <strong>{title}</strong>
      {children !== undefined && <span>{children}</span>}
      {actions !== undefined && <span class="actions">{actions}</span>}
    </div>
  );
}

/** Shown instead of an empty list: the reason, and how to change that. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{title}</p>
      {children !== undefined && <p class="unit">{children}</p>}
    </div>
  );
}
