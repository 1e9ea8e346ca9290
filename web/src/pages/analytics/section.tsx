/** A part of the page: its name, what can be chosen of it, and what it shows. */
import type { ComponentChildren } from "preact";

export function Section({
  id,
  title,
  beside,
  children,
}: {
  id: string;
  title: string;
  beside?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="analysis" aria-labelledby={id}>
      <div class="bar-line">
        <h2 class="section" id={id}>
          {title}
        </h2>
        {beside}
      </div>
      {children}
    </section>
  );
}
