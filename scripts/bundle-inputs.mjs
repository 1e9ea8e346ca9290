// Reduces a bundler's report to the input of the architecture test: which source files a bundle loads at once, which only later,
// and which file imported each of them.

/**
 * @typedef {{ static: string[], lazy: string[], importedBy: Record<string, string> }} BundleInputs
 */

/**
 * @param {import("esbuild").Metafile} metafile
 * @param {string} entry the bundler's name of the entry's source path
 * @returns {BundleInputs}
 */
export function bundleInputs(metafile, entry) {
  const main = Object.entries(metafile.outputs).find(
    ([, output]) => output.entryPoint === entry,
  )?.[0];
  if (main === undefined) throw new Error(`BUG: the bundler's report has no output for ${entry}`);
  const loadedAtOnce = new Set([main]);
  for (const file of loadedAtOnce) {
    for (const chunk of metafile.outputs[file]?.imports ?? []) {
      if (chunk.kind === "import-statement" && chunk.external !== true)
        loadedAtOnce.add(chunk.path);
    }
  }
  /** @type {Set<string>} */
  const atOnce = new Set();
  /** @type {Set<string>} */
  const later = new Set();
  for (const [file, output] of Object.entries(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      if (bytesInOutput > 0) (loadedAtOnce.has(file) ? atOnce : later).add(input);
    }
  }
  return {
    static: [...atOnce].sort(),
    lazy: [...later].filter((input) => !atOnce.has(input)).sort(),
    importedBy: firstImporters(metafile, entry),
  };
}

/**
 * Breadth first, and along static imports before dynamic ones, so that the reported chain is the relevant one.
 * @param {import("esbuild").Metafile} metafile
 * @param {string} entry
 */
function firstImporters(metafile, entry) {
  /** @type {Record<string, string>} */
  const importedBy = {};
  const seen = new Set([entry]);
  for (const alsoDynamic of [false, true]) {
    for (const file of seen) {
      for (const target of metafile.inputs[file]?.imports ?? []) {
        if (target.external === true || seen.has(target.path)) continue;
        if (target.kind === "dynamic-import" && !alsoDynamic) continue;
        seen.add(target.path);
        importedBy[target.path] = file;
      }
    }
  }
  return importedBy;
}
