/** The name of a reading's source in a table: an exporter without its job, target and host, which stand elsewhere. */
export const shortSource = (source: string): string =>
  source.startsWith("exporter:")
    ? source.slice("exporter:".length).split("/", 1)[0] || source
    : source;
