/** Left and right edge of a plot in its element, the same everywhere, so that equal instants are aligned. */
export const AXIS_PX = 64;
export const RIGHT_PX = 16;
