/**
 * Parses the Markdown of a runbook section into blocks: paragraphs and lists of text, bold text, code and links. Pure; any other
 * syntax stays text.
 */

export type MarkdownPart =
  | { readonly kind: "text" | "bold" | "code"; readonly text: string }
  | { readonly kind: "link"; readonly text: string; readonly href: string };

export interface MarkdownBlock {
  readonly kind: "paragraph" | "item";
  readonly parts: readonly MarkdownPart[];
}

const inline = /\*\*([^*]+)\*\*|`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** Without the heading, which the page renders itself. */
export function parseMarkdown(markdown: string): readonly MarkdownBlock[] {
  return markdown
    .replace(/^#{1,6} .*$/m, "")
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .filter((block) => block !== "")
    .flatMap((block): MarkdownBlock[] =>
      block.startsWith("- ")
        ? block
            .split(/\n(?=- )/)
            .map((item) => ({ kind: "item", parts: parseInline(item.slice(2)) }))
        : [{ kind: "paragraph", parts: parseInline(block) }],
    );
}

export function parseInline(text: string): readonly MarkdownPart[] {
  const parts: MarkdownPart[] = [];
  let end = 0;
  for (const match of text.matchAll(inline)) {
    if (match.index > end) parts.push({ kind: "text", text: text.slice(end, match.index) });
    const [whole, bold, code, label, href] = match;
    if (bold !== undefined) parts.push({ kind: "bold", text: bold });
    else if (code !== undefined) parts.push({ kind: "code", text: code });
    else parts.push({ kind: "link", text: label ?? "", href: href ?? "" });
    end = match.index + whole.length;
  }
  if (end < text.length) parts.push({ kind: "text", text: text.slice(end) });
  return parts;
}

/** The target of a runbook link: another section, a page of the documentation, or undefined for a page that this hub does not serve. */
export type RunbookLink =
  | { readonly kind: "section"; readonly alert: string }
  | { readonly kind: "docs"; readonly path: string }
  | { readonly kind: "web"; readonly href: string }
  | undefined;

export function resolveRunbookLink(href: string): RunbookLink {
  if (/^https?:\/\//.test(href)) return { kind: "web", href };
  if (href.startsWith("#")) return { kind: "section", alert: href.slice(1) };
  const [, path, hash = ""] = /^\.\.\/([\w/-]+)\.md(#[\w-]+)?$/.exec(href) ?? [];
  return path === undefined ? undefined : { kind: "docs", path: `${path}${hash}` };
}
