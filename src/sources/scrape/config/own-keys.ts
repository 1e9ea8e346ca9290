/**
 * The keys of gpulse.yaml with the same meaning as in a prometheus.yml. Only their outline is declared here, so that a command
 * that scrapes nothing does not load their parser: `readOwnSections` does.
 */
import * as v from "valibot";

const mappings = (takes: string) =>
  v.optional(
    v.pipe(
      v.array(v.record(v.string(), v.unknown()), takes),
      v.metadata({ takes: "list of mappings" }),
      v.description(takes),
    ),
  );

export const ownKeys = {
  global: v.optional(
    v.pipe(
      v.record(v.string(), v.unknown(), "a mapping as in prometheus.yml"),
      v.metadata({ takes: "mapping" }),
      v.description(
        "What `scrape_configs` have where they say nothing, and the labels of all that leaves: as in prometheus.yml.",
      ),
    ),
  ),
  scrape_configs: mappings("Targets the hub scrapes: as in prometheus.yml."),
  remote_write: mappings("Where the hub sends all it takes in: as in prometheus.yml."),
};
