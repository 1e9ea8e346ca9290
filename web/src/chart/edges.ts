/** Edges and type size of a plot in its element, the same everywhere, so that equal instants are aligned. `chart.css` has the same lengths in rem. */

/** `--axis-right` of the stylesheet. */
export const RIGHT_PX = 16;
const USUAL_ROOT_PX = 16;

let rootPx: number | undefined;

/** Wall displays scale the type of the whole page; reading that size needs a layout, so it is kept until the window changes. */
function rootFontPx(): number {
  if (rootPx === undefined) {
    rootPx = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    const forget = (): void => {
      rootPx = undefined;
    };
    addEventListener("resize", forget, { once: true, capture: true });
  }
  return rootPx || USUAL_ROOT_PX;
}

/** Pixels for a length that is `px` at the usual type size. */
export const scaled = (px: number): number => Math.round((px * rootFontPx()) / USUAL_ROOT_PX);

/** The width of the value axis, `--axis` of the stylesheet. */
export const axisPx = (): number => scaled(64);

/** Charts draw their labels by themselves: these grow with the type too. */
export const axisFontPx = (): number => scaled(11);
