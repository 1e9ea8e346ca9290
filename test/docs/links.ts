// Finds broken links. Only links inside the repository are checked, without the network.

import { existsSync } from "node:fs";
import path from "node:path";

import { repository } from "../../engines/program.ts";
import { anchors, type DocPage, readPage, withoutCodeBlocks } from "./pages.ts";

const LINK = /!?\[(?:[^\]\\]|\\.)*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g;
const DEFINITION = /^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$/gm;
const HTML = /<(?:img|a)\b[^>]*?\b(?:src|href)="([^"]+)"/g;

function targets(text: string): string[] {
  // Inline code is removed, since it may contain an example of a link; linked code keeps its brackets.
  const prose = withoutCodeBlocks(text).replace(/(?<!`)(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, "code");
  return [LINK, DEFINITION, HTML].flatMap((pattern) =>
    [...prose.matchAll(pattern)].map((match) => match[1] ?? ""),
  );
}

/** Every unresolved link of a page, one sentence each. */
export function brokenLinks(page: DocPage): string[] {
  return targets(page.text).flatMap((target) => {
    if (/^[a-z][a-z+.-]*:/i.test(target)) return [];
    const [link = "", anchor] = target.split("#");
    const file =
      link === ""
        ? page.file
        : path.posix.normalize(path.posix.join(path.posix.dirname(page.file), decodeURI(link)));
    if (file.startsWith("..") || path.posix.isAbsolute(file)) {
      return [`${page.file}: ${target} leads out of the repository`];
    }
    if (!existsSync(path.join(repository, file))) return [`${page.file}: ${target} is not there`];
    if (anchor === undefined || !file.endsWith(".md")) return [];
    const text = file === page.file ? page.text : readPage(file).text;
    return anchors(text).has(anchor) ? [] : [`${page.file}: ${target} names no heading`];
  });
}
