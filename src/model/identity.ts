/** Who a machine's series are from: the same labels whether they were pushed, sent or scraped. */
import { type LabelSet, labelSet } from "./labels.ts";

/** `job` and `instance` as a scrape of the same agent would give them. */
export function identityOf(host: string): LabelSet {
  return labelSet({ job: "gpulse", instance: `${host}:9400` });
}
