/** Parses the price of a kilowatt-hour: `0.30 €`, `0,12 USD`. Pure. */

export interface Price {
  readonly perKwh: number;
  readonly currency: string;
}

export function readPrice(text: string): Price | undefined {
  const [, amount = "", currency = ""] = /^\s*(\d+(?:[.,]\d+)?)\s*(\D{0,8}?)\s*$/.exec(text) ?? [];
  return amount === "" ? undefined : { perKwh: Number(amount.replace(",", ".")), currency };
}
