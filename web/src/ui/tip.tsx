/** The tooltip of the page: shows the `data-tip` of the element under the pointer or with the focus. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { frame } from "../live/feed.ts";

const GAP_PX = 6;

export function Tip() {
  const target = useSignal<Element | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const find = (event: Event): void => {
      target.value =
        (event.target instanceof Element ? event.target.closest("[data-tip]") : null) ?? undefined;
    };
    const focus = (event: Event): void => {
      if (
        event.target instanceof Element &&
        event.target.matches(":focus-visible:not([data-tip-pointer])")
      )
        find(event);
    };
    const hide = (): void => {
      target.value = undefined;
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key === "Escape") hide();
    };
    const listeners: readonly (readonly [string, (event: never) => void])[] = [
      ["pointerover", find],
      ["focusin", focus],
      ["focusout", hide],
      ["scroll", hide],
      ["keydown", escape],
    ];
    for (const [name, listener] of listeners)
      document.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of listeners)
        document.removeEventListener(name, listener as EventListener);
    };
  }, [target]);
  // Read again with every frame, because its numbers change too.
  const text = frame.value === undefined ? null : (target.value?.getAttribute("data-tip") ?? null);
  useLayoutEffect(() => {
    if (box.current === null || target.value === undefined || text === null) return;
    const at = target.value.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = box.current;
    const below = at.bottom + GAP_PX + offsetHeight <= innerHeight;
    box.current.style.left = `${Math.max(GAP_PX, Math.min(at.left, innerWidth - offsetWidth - GAP_PX))}px`;
    const top = below ? at.bottom + GAP_PX : at.top - GAP_PX - offsetHeight;
    box.current.style.top = `${Math.max(GAP_PX, Math.min(top, innerHeight - offsetHeight - GAP_PX))}px`;
  });
  if (text === null || target.value?.isConnected !== true) return null;
  return (
    <div ref={box} class="tip" role="tooltip">
      {text}
    </div>
  );
}
