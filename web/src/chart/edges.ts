/** Where a plot begins and ends within its element: the same everywhere, so that instants stand below each other. */
export const AXIS_PX = 64;
export const RIGHT_PX = 16;
