/** Labels of a machine that its operator set, such as room and rack. Pure. */

type Labels = Readonly<Record<string, string>>;

/** Labels of `gpu_info` that gpulse, a scrape or an exporter sets. */
const builtIn: ReadonlySet<string> = new Set([
  "__name__",
  "host",
  "uuid",
  "gpu",
  "job",
  "instance",
  "vendor",
  "model",
  "driver",
  "vbios",
  "pci_bus_id",
  "parent",
  "numa_node",
  "simulated",
  "source",
]);

/** Locations from the largest to the smallest; other names follow in alphabetical order. */
const places = ["region", "zone", "site", "datacenter", "building", "room", "row", "rack"];

const placeOf = (name: string): number => {
  const at = places.indexOf(name);
  return at === -1 ? places.length : at;
};

/** Returns the names of the operator's labels, locations first. */
export function customLabelNames(all: Iterable<Labels>): readonly string[] {
  const names = new Set<string>();
  for (const labels of all)
    for (const name of Object.keys(labels)) if (!builtIn.has(name)) names.add(name);
  return [...names].sort(
    (left, right) => placeOf(left) - placeOf(right) || (left < right ? -1 : 1),
  );
}

/** Returns the operator's labels that are equal on all GPUs of the machine. */
export function customLabels(all: readonly Labels[]): Labels {
  return Object.fromEntries(
    customLabelNames(all).flatMap((name) => {
      const values = new Set(all.map((labels) => labels[name] ?? ""));
      const [value] = values;
      return values.size === 1 && value !== undefined && value !== "" ? [[name, value]] : [];
    }),
  );
}
