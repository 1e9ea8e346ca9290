/** PCI addresses as everybody but NVIDIA writes them. Pure. */

/** NVML writes an eight-digit domain, the kernel and everybody else four: 00000000:C1:00.0 is 0000:c1:00.0. */
export function shortBusId(busId: string): string {
  return busId.toLowerCase().replace(/^0000([0-9a-f]{4}:)/, "$1");
}
