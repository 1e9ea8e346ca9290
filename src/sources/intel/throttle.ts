/** Maps the driver's throttle reasons of an Intel GPU to the catalogue's. Pure. */

/**
 * pl1, pl2, pl4: power limits; thermal, ratl: temperature; prochot and vr_thermalert: an external signal; vr_tdc: current. Newer
 * kernels add more of each kind (soc_thermal, mem_thermal, iccmax, psys_pl1, …); an unknown name is ignored.
 */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/^(?:prochot|vr_thermalert|vr_hot)$/, "thermal_hardware"],
  [/thermal|^ratl$|_ratl$/, "thermal"],
  [/tdc|iccmax|edp/, "current"],
  [/pl[124]|psys|fast_vmode/, "power_cap"],
];

export const intelReasons = ["power_cap", "current", "thermal", "thermal_hardware"] as const;

export function reasonOf(name: string): string | undefined {
  return patterns.find(([pattern]) => pattern.test(name))?.[1];
}

/** The `reasons` file: `none`, or the active names separated by spaces or commas. */
export function parseReasons(text: string): ReadonlySet<string> {
  const active = new Set<string>();
  for (const name of text.slice(0, 4_096).split(/[\s,]+/)) {
    const reason = reasonOf(name.replace(/^reason_/, ""));
    if (reason !== undefined) active.add(reason);
  }
  return active;
}
