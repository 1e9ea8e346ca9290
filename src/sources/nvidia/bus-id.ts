/** Converts NVML's PCI addresses to the kernel's form. Pure. */

/** NVML writes an eight-digit domain, the kernel and all other tools four: 00000000:C1:00.0 becomes 0000:c1:00.0. */
export function shortBusId(busId: string): string {
  return busId.toLowerCase().replace(/^0000([0-9a-f]{4}:)/, "$1");
}
