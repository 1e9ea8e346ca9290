// Finds links that lead nowhere. Only links inside the repository are looked at; the network is not asked.

import { existsSync } from "node:fs";
import path from "node:path";

import { repository } from "../../engines/program.ts";
import { anchors, type DocPage, readPage, withoutCodeBlocks } from "./pages.ts";

const LINK = /!?\[(?:[^\]\\]|\\.)*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g;
const DEFINITION = /^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$/gm;
const HTML = /<(?:img|a)\b[^>]*?\b(?:src|href)="([^"]+)"/g;

function targets(text: string): string[] {
  // Inline code is taken out, since it may show what a link looks like; a linked code word keeps its brackets.
  const prose = withoutCodeBlocks(text).replace(/(?<!`)(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, "code");
  return [LINK, DEFINITION, HTML].flatMap((pattern) =>
    [...prose.matchAll(pattern)].map((match) => match[1] ?? ""),
  );
}

/** Every link of a page that does not resolve, each as one sentence. */
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
