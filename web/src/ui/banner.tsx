/** A line across the page: what is wrong and what to do, or that something is worth knowing. */
import type { ComponentChildren } from "preact";

export interface BannerProps {
  readonly level: "note" | "warn" | "bad" | "good";
  /** The thing itself in a few words. */
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

/** Nothing to show, why, and the way to change that. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{title}</p>
      {children !== undefined && <p class="unit">{children}</p>}
    </div>
  );
}
