// Determines which files of the repository become pages of the documentation site, their addresses, and their groups in the
// sidebar. Everything is derived from the Markdown itself: a new guide needs no entry here.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

/** Pages outside docs/ that readers look for; others are included if linked. */
const PROJECT_PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
/** A linked source file up to this size is shown as a page; a larger one is a download. */
const MAX_SHOWN_BYTES = 16 * 1024;
const SHOWN_TYPES = /\.(conf|json|m?js|ts|ya?ml|sql|sh|py|tf|toml|example)$/;
const LINK =
  /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|<(?:img|a|source)\b[^>]*?\b(?:src|href|srcset)="([^"\s]+)"/g;

/**
 * @typedef {{ kind: "page" | "code" | "asset", source: string, target: string, title: string }} SiteFile
 *   `source` is the path in the repository, `target` the path in the site: `guides/hub.md`, `images/fleet-dark.png`
 * @typedef {{ text: string, link?: string, collapsed?: boolean, items?: SidebarItem[] }} SidebarItem
 */

/** The Markdown without code blocks, in which links do not count. @param {string} markdown */
const prose = (markdown) => markdown.replaceAll(/^( *)(```+|~~~+)[\s\S]*?^\1\2 *$/gm, "");

/**
 * Resolves a link of a file to a path in the repository; undefined for other hosts and anchors.
 * @param {string} from @param {string} link
 */
export function resolveLink(from, link) {
  if (/^(?:[a-z][a-z+.-]*:|#|\/)/i.test(link)) return undefined;
  const [file = ""] = link.split(/[?#]/, 1);
  const target = path.posix.normalize(path.posix.join(path.posix.dirname(from), decodeURI(file)));
  return target.startsWith("..") ? undefined : target.replace(/\/$/, "");
}

/** @param {string} source */
function pageTarget(source) {
  const inDocs = source.replace(/^docs\//, "");
  if (inDocs === "README.md") return source === inDocs ? "readme.md" : "index.md";
  if (inDocs.endsWith("/README.md")) return inDocs.replace(/README\.md$/, "index.md");
  return path.posix.join(path.posix.dirname(inDocs), path.posix.basename(inDocs).toLowerCase());
}

/** Plain text of the first heading. @param {string} markdown @param {string} fallback */
function titleOf(markdown, fallback) {
  const [, heading = fallback] = /^# (.+)$/m.exec(prose(markdown)) ?? [];
  return heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");
}

/** Every file of the site, found from docs/ by following links inside the repository. @param {string} root @returns {Map<string, SiteFile>} by source */
export function collectFiles(root) {
  /** @type {Map<string, SiteFile>} */
  const files = new Map();
  const docs = readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" })
    .map((name) => `docs/${name.replaceAll(path.sep, "/")}`)
    .filter((name) => name.endsWith(".md"))
    .sort();
  const queue = [...docs, ...PROJECT_PAGES.filter((name) => existsSync(path.join(root, name)))];
  for (const source of queue) {
    if (files.has(source)) continue;
    const absolute = path.join(root, source);
    const stat = statSync(absolute, { throwIfNoEntry: false });
    if (stat?.isDirectory() === true) {
      if (existsSync(path.join(absolute, "README.md"))) queue.push(`${source}/README.md`);
      continue;
    }
    if (stat === undefined) continue;
    if (source.endsWith(".md")) {
      const markdown = readFileSync(absolute, "utf8");
      const title = titleOf(markdown, source);
      files.set(source, { kind: "page", source, target: pageTarget(source), title });
      for (const [, link, html] of prose(markdown).matchAll(LINK)) {
        const target = resolveLink(source, link ?? html ?? "");
        if (target !== undefined) queue.push(target);
      }
    } else {
      // The server rejects names that begin with a dot.
      const target = `files/${source.replaceAll(/(^|\/)\./g, "$1")}`;
      if (SHOWN_TYPES.test(source) && stat.size <= MAX_SHOWN_BYTES)
        files.set(source, { kind: "code", source, target: `${target}.md`, title: source });
      else
        files.set(source, {
          kind: "asset",
          source,
          target: target.replace(/^files\/docs\//, ""),
          title: source,
        });
    }
  }
  return files;
}

/**
 * The sidebar: the quick starts, then the sections of docs/README.md with their linked pages, then the other pages by folder.
 * @param {string} root
 * @param {Map<string, SiteFile>} files
 * @returns {SidebarItem[]}
 */
export function sidebarOf(root, files) {
  const placed = new Set(["docs/README.md"]);
  /** @param {string[]} sources @returns {SidebarItem[]} */
  const items = (sources) =>
    sources.flatMap((source) => {
      const file = files.get(source);
      if (file?.kind !== "page" || placed.has(source)) return [];
      placed.add(source);
      return [{ text: file.title, link: `/${file.target.replace(/(?:index)?\.md$/, "")}` }];
    });
  const index = readFileSync(path.join(root, "docs/README.md"), "utf8");
  const linked = (/** @type {string} */ text) =>
    [...text.matchAll(LINK)].flatMap(([, link = ""]) => resolveLink("docs/README.md", link) ?? []);
  const isStart = (/** @type {string} */ source) => source.startsWith("docs/start/");
  const start = { text: "Start", collapsed: false, items: items(linked(index).filter(isStart)) };
  // A section begins with a heading, or with a table row that consists of one bold cell.
  const byTask = index.split(/^(?=## |\| \*\*)/m).flatMap((section) => {
    const [, heading, row] = /^(?:## (.+)|\| \*\*(.+?)\*\*)/.exec(section) ?? [];
    const links = linked(section).filter((link) => !link.startsWith("docs/decisions/"));
    // The table by role repeats pages that are listed below a task.
    if (links.some(isStart)) return [];
    return [{ text: (heading ?? row ?? "").trim(), collapsed: false, items: items(links) }];
  });
  const inFolder = (/** @type {string} */ folder) =>
    [...files.keys()].filter((source) => source.startsWith(folder));
  const folders = [
    {
      text: "More guides",
      collapsed: false,
      items: items([
        ...inFolder("docs/start/"),
        ...inFolder("docs/guides/"),
        ...inFolder("docs/runbook/"),
      ]),
    },
    {
      text: "More reference",
      collapsed: true,
      items: items(inFolder("docs/").filter((source) => !source.startsWith("docs/decisions/"))),
    },
    {
      text: "Project",
      collapsed: true,
      items: items(
        [...PROJECT_PAGES, ...files.keys()].filter((source) => !source.startsWith("docs/")),
      ),
    },
    { text: "Decisions", collapsed: true, items: items(inFolder("docs/decisions/")) },
  ];
  return [
    { text: "Overview", link: "/" },
    ...[start, ...byTask, ...folders].filter((group) => group.items.length > 0),
  ];
}
