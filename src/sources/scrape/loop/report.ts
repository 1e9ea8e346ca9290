/** The report samples that a scrape adds about itself. */

export const usualReports = [
  "up",
  "scrape_duration_seconds",
  "scrape_samples_scraped",
  "scrape_samples_post_metric_relabeling",
  "scrape_series_added",
] as const;

/** Report samples that must be enabled. */
export const extraReports = [
  "scrape_timeout_seconds",
  "scrape_sample_limit",
  "scrape_body_size_bytes",
] as const;

export type ReportName = (typeof usualReports)[number] | (typeof extraReports)[number];
