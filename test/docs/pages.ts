// The pages of the documentation for the docs tests: text, code, headings.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";

import { repository } from "../../engines/program.ts";

const TOP_PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

export interface DocPage {
  readonly file: string;
  readonly text: string;
}

function markdownUnder(folder: string): string[] {
  const start = path.join(repository, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { withFileTypes: true }).flatMap((entry) => {
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : markdownUnder(file);
    return entry.name.endsWith(".md") ? [file] : [];
  });
}

export function readPage(file: string): DocPage {
  return { file, text: readFileSync(path.join(repository, file), "utf8") };
}

/** Every page; the four at the top are required. */
export function pages(): DocPage[] {
  return [...TOP_PAGES, ...markdownUnder("docs"), ...markdownUnder("deploy")].map(readPage);
}

const FENCE = /^ {0,3}(```+|~~~+) *([\w-]*)([^\n]*)\n([\s\S]*?)^ {0,3}\1 *$/gm;

export interface CodeBlock {
  readonly language: string;
  /** The words after the language. */
  readonly marks: readonly string[];
  readonly code: string;
}

/** Code blocks with the language named after the fence. */
export function codeBlocks(text: string): CodeBlock[] {
  return [...text.matchAll(FENCE)].map(([, , language = "", info = "", code = ""]) => ({
    language,
    marks: info.split(" ").filter((mark) => mark !== ""),
    code,
  }));
}

/** The text without code blocks. */
export function withoutCodeBlocks(text: string): string {
  return text.replace(FENCE, "");
}

/** Inline code of the prose. */
export function inlineCode(text: string): string[] {
  return [...withoutCodeBlocks(text).matchAll(/(?<!`)(`+)(?!`)([\s\S]*?[^`])\1(?!`)/g)].map(
    (match) => (match[2] ?? "").trim(),
  );
}

/** GitHub's anchors of a page's headings. */
export function anchors(text: string): Set<string> {
  const seen = new Map<string, number>();
  const found = new Set<string>();
  for (const [, title = ""] of withoutCodeBlocks(text).matchAll(/^#{1,6} +(.+?) *#* *$/gm)) {
    const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
    const slug = plain
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-");
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    found.add(before === 0 ? slug : `${slug}-${before}`);
  }
  for (const [, id = ""] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) found.add(id);
  return found;
}
