// The rule of the tree: six layers of folders. A folder may import from its own layer and from the layers below it.

import { importsOf, resolveImport } from "./source-tree.ts";

export const LAYERS: readonly (readonly string[])[] = [
  ["base", "config"],
  ["model", "formats", "net", "machine"],
  ["sources", "pipeline", "sinks", "lake"],
  ["storage", "query", "runs", "alerting"],
  ["view", "access"],
  ["agent", "hub", "top", "cli"],
];

/** Folders whose sub-folders are independent components that must not import each other. */
const COMPONENT_FOLDERS = ["src/sources/", "src/sinks/", "src/alerting/channels/"];
const IO_MODULE = /^node:(?!util$|assert$)/;

const folderOf = (file: string): string => file.split("/")[1] ?? "";

const layerOf = (file: string): number =>
  LAYERS.findIndex((folders) => folders.includes(folderOf(file)));

/** The component a file belongs to, as `src/sinks/kafka`. */
function componentOf(file: string): string | undefined {
  const parent = COMPONENT_FOLDERS.find((folder) => file.startsWith(folder));
  if (parent === undefined) return undefined;
  const [name, ...rest] = file.slice(parent.length).split("/");
  return rest.length > 0 ? `${parent}${name}` : undefined;
}

const isSameParent = (left: string, right: string): boolean =>
  COMPONENT_FOLDERS.some((folder) => left.startsWith(folder) && right.startsWith(folder));

/** Every import of a file under src/ that the rule forbids, each as one sentence. */
export function violations(file: string, text: string): string[] {
  const isTest = file.endsWith(".test.ts");
  const layer = layerOf(file);
  if (layer === -1) return [`${file} is in no folder of LAYERS`];
  return importsOf(text).flatMap((imported) => {
    if (folderOf(file) === "model" && !isTest && IO_MODULE.test(imported))
      return [`${file} imports ${imported}, and the model does no I/O`];
    const target = resolveImport(file, imported);
    if (target === undefined) return [];
    // Tests may use what starts real programs; code may not leave src at all.
    if (!target.startsWith("src/")) return isTest ? [] : [`${file} imports ${target}, outside src`];
    const targetLayer = layerOf(target);
    if (targetLayer > layer || targetLayer === -1)
      return [`${file} imports ${target}, which is in a layer above`];
    if (folderOf(file) === "model" && !["model", "base"].includes(folderOf(target)))
      return [`${file} imports ${target}, and the model imports base only`];
    const [own, other] = [componentOf(file), componentOf(target)];
    return own !== undefined && other !== undefined && own !== other && isSameParent(own, other)
      ? [`${file} imports ${target}: what they share belongs beside both`]
      : [];
  });
}
