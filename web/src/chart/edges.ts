/** Left and right edge of a plot in its element, the same everywhere, so that equal instants are aligned. */
export const RIGHT_PX = 16;

const rootPx = (): number =>
  Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;

/** The width of the value axis, `--axis` of the stylesheet: it grows with the type of wall displays. */
export const axisPx = (): number => Math.min(82, 4 * rootPx());

/** Charts draw their labels by themselves: these grow with the type too, up to where values still fit the axis. */
export const axisFontPx = (): number => Math.min(14, (11 * rootPx()) / 16);
