/** The identity labels of a machine's series: the same for frames, remote-write and scrapes. */
import { type LabelSet, labelSet } from "./labels.ts";

/** `job` and `instance` as a scrape of the same agent sets them. */
export function identityOf(host: string): LabelSet {
  return labelSet({ job: "gpulse", instance: `${host}:9400` });
}
