/** Prometheus feature flags that gpulse supports: `--enable-feature=NAME,NAME`, with the same names. */
import * as v from "valibot";

export const features = [
  "native-histograms",
  "created-timestamp-zero-ingestion",
  "exemplar-storage",
  "st-storage",
  "use-start-timestamps",
] as const;
export type Feature = (typeof features)[number];

const takes = `names with commas between them, of ${features.join(", ")}`;
const isFeature = (name: string): name is Feature => features.some((known) => known === name);

/** A list in the file, or comma-separated names. */
export const featureList = () =>
  v.pipe(
    v.union([v.string(takes), v.array(v.string(takes), takes)], takes),
    v.transform((given) =>
      (Array.isArray(given) ? given : given.split(","))
        .map((name) => name.trim())
        .filter((name) => name !== ""),
    ),
    v.check((names) => names.every(isFeature), takes),
    v.transform((names) => names.filter(isFeature)),
  );
