// Reads a page of Prometheus text into a map from `name{label="value",…}` to numbers. For the device check only.

/**
 * @param {string} text
 * @returns {{ name: string, labels: Record<string, string>, value: number }[]}
 */
export function parsePage(text) {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .flatMap((line) => {
      const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
      if (match === null) return [];
      const labels = Object.fromEntries(
        [...(match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [
          name ?? "",
          value ?? "",
        ]),
      );
      return [{ name: match[1] ?? "", labels, value: Number(match[3]) }];
    });
}

/**
 * The value of the series with these labels; undefined where it is not on the page.
 * @param {ReturnType<typeof parsePage>} page
 * @param {string} name
 * @param {Record<string, string>} [labels]
 */
export function valueOf(page, name, labels = {}) {
  return page.find(
    (one) =>
      one.name === name &&
      Object.entries(labels).every(([label, value]) => one.labels[label] === value),
  )?.value;
}
