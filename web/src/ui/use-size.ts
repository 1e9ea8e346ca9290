/** The measured width of an element; updates when it changes. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

/** 0 until it is measured. */
export function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const target = element.current;
    return target === null ? undefined : watchWidth(target, setWidth);
  }, [element]);
  return width;
}

/**
 * Undefined until it is measured after the first frame: for an element that measures itself while it is drawn first, and need not
 * be rendered a second time for that frame.
 */
export function useWidthAfterPaint(element: {
  readonly current: HTMLElement | null;
}): number | undefined {
  const [width, setWidth] = useState<number | undefined>(undefined);
  useEffect(() => {
    const target = element.current;
    return target === null ? undefined : watchWidth(target, setWidth);
  }, [element]);
  return width;
}

function watchWidth(target: HTMLElement, setWidth: (px: number) => void): () => void {
  const look = (): void => setWidth(widthOf(target));
  look();
  const watch = new ResizeObserver(look);
  watch.observe(target);
  return () => watch.disconnect();
}

export const widthOf = (element: HTMLElement): number => Math.floor(element.clientWidth);
