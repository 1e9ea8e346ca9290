/** A section of the page: title, options and content. */
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
