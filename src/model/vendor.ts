/**
 * The GPU vendors that gpulse has a source for. A device of any other vendor keeps its vendor text: a newer agent, another exporter
 * or a file may name vendors that are not in this list.
 */
export const vendorTitles = { nvidia: "NVIDIA", amd: "AMD", intel: "Intel" } as const;

export type Vendor = keyof typeof vendorTitles;

export const vendors = Object.keys(vendorTitles) as Vendor[];

/** For messages: `nvidia, amd or intel`. */
export const vendorChoice = `${vendors.slice(0, -1).join(", ")} or ${vendors.at(-1) ?? ""}`;

export const parseVendor = (text: string): Vendor | undefined =>
  vendors.find((vendor) => vendor === text);

export function vendorTitle(vendor: string): string {
  const known = parseVendor(vendor);
  return known === undefined ? vendor : vendorTitles[known];
}
