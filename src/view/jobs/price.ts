/** Formats cost and CO2: a small amount is not printed as nothing. */

export const costText = (cost: number, currency = ""): string =>
  `${cost > 0 && cost < 0.005 ? "< 0.01" : cost.toFixed(2)} ${currency}`.trim();

export const massText = (grams: number): string =>
  grams < 100 ? `${grams.toFixed(1)} g` : `${(grams / 1_000).toFixed(2)} kg`;
