/** Name of a reading's source in a table: an exporter without its job, target and host, which have their own columns. */
export const shortSource = (source: string): string =>
  source.startsWith("exporter:")
    ? source.slice("exporter:".length).split("/", 1)[0] || source
    : source;
