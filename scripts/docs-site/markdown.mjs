// Markdown rules of the documentation site: links between repository files become links between pages, Mermaid diagrams become
// inline SVG, and nothing needs an inline style, which the hub's Content-Security-Policy blocks.

import { resolveLink } from "./pages.mjs";

/**
 * @typedef {import("./pages.mjs").SiteFile} SiteFile
 * @typedef {{ type: string, tag: string, content: string, info: string, hidden: boolean, children: Token[] | null,
 *   attrGet(name: string): string | null, attrSet(name: string, value: string): void, attrs: [string, string][] | null }} Token
 * @typedef {(tokens: Token[], index: number, options: unknown, env: { relativePath?: string }, self: unknown) => string} Rule
 * @typedef {{ core: { ruler: { push(name: string, rule: (state: { tokens: Token[], env: { relativePath?: string } }) => void): void } },
 *   renderer: { rules: Record<string, Rule | undefined> } }} Markdown
 */

/** Maps language names that the highlighter does not support to ones that it does. @type {Record<string, string | undefined>} */
const LANGUAGES = { conf: "nginx", example: "ini", mjs: "js", promql: "txt" };

/** GitHub's anchor of a heading, which the links in docs/ use. @param {string} heading */
export const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** Width of the text column on a desktop. */
const COLUMN_PIXELS = 700;

/**
 * A left-to-right chart that is wider than the column is drawn from top to bottom.
 * @param {string} code @param {(code: string) => string} render
 */
function drawDiagram(code, render) {
  const drawn = render(code);
  const [, width = "0"] = /<svg[^>]* width="([\d.]+)"/.exec(drawn) ?? [];
  if (Number(width) <= COLUMN_PIXELS) return drawn;
  return render(code.replace(/^(\s*(?:flowchart|graph)) LR\b/, "$1 TB"));
}

/**
 * The colours are CSS variables of the theme: a style element in the picture would be blocked, and would fit only one theme.
 * @param {string} svg
 */
function themeDiagram(svg) {
  return svg
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replace(/(<svg[^>]*?) style="[^"]*"/, '$1 role="img"')
    .replaceAll(/var\(--_?([\w-]+)\)/g, "var(--diagram-$1)")
    .replaceAll(/ (?:font-family|style)="[^"]*"/g, "");
}

/**
 * @param {Markdown} md
 * @param {{ base: string, files: readonly SiteFile[], renderDiagram: (code: string) => string }} site
 */
export function addRules(md, { base, files, renderDiagram }) {
  const bySource = new Map(files.map((file) => [file.source, file]));
  const byTarget = new Map(files.map((file) => [file.target, file]));

  /**
   * Returns the link's address in the site, and whether the browser should download it.
   * @param {string} from @param {string} link
   */
  const siteLink = (from, link) => {
    const source = resolveLink(from, link);
    if (source === undefined) return { href: link, download: false };
    const file = bySource.get(source) ?? bySource.get(`${source}/README.md`);
    if (file === undefined) return undefined;
    const anchor = /#.*$/.exec(link)?.[0] ?? "";
    const download = file.kind === "asset" && !/\.(png|svg|gif|webp|jpg)$/.test(file.target);
    return { href: `/${file.target}${anchor}`, download };
  };

  /** @param {string} href `/guides/hub.md#tokens` */
  const htmlAddress = (href) =>
    `${base}${href.slice(1)}`.replace(/(index)?\.md(?=#|$)/, (_end, index) =>
      index === undefined ? ".html" : "",
    );

  /** @param {Token[]} tokens @param {string} from */
  const rewriteLinks = (tokens, from) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type === "link_open" && token.attrGet("class") !== "header-anchor") {
        const link = siteLink(from, token.attrGet("href") ?? "");
        if (link === undefined) {
          // A folder or file of the repository that is not part of the site: its name stays as text.
          token.attrs = null;
          token.hidden = true;
          const close = tokens.slice(index).find(({ type }) => type === "link_close");
          if (close !== undefined) close.hidden = true;
        } else {
          // VitePress adds the base to its own routes, but not to downloads.
          token.attrSet("href", link.download ? `${base}${link.href.slice(1)}` : link.href);
          if (link.download) token.attrSet("download", "");
        }
      } else if (token.type === "image") {
        const link = siteLink(from, token.attrGet("src") ?? "");
        if (link !== undefined) token.attrSet("src", link.href);
      } else if (token.type.startsWith("html_")) {
        token.content = token.content
          .replaceAll(/\b(src|href|srcset)="([^"\s]+)"/g, (whole, name, value) => {
            const link = siteLink(from, value);
            if (link === undefined || link.href === value) return whole;
            // Vue adds the base to sources; an address must be complete.
            return `${name}="${name === "href" ? htmlAddress(link.href) : link.href}"`;
          })
          .replaceAll(/ style="[^"]*"/g, "");
      }
      if (token.children !== null) rewriteLinks(token.children, from);
    }
  };

  md.core.ruler.push("gpulse_site", ({ tokens, env }) => {
    const from = byTarget.get(env.relativePath ?? "")?.source;
    if (from !== undefined) rewriteLinks(tokens, from);
    // Columns are aligned by a class.
    for (const token of tokens) {
      const [, side] = /^text-align:(\w+)$/.exec(token.attrGet("style") ?? "") ?? [];
      if (side === undefined) continue;
      token.attrs = (token.attrs ?? []).filter(([name]) => name !== "style");
      token.attrSet("class", `align-${side}`);
    }
  });

  // Two braces in prose are text here, but a template in Vue.
  const { fence, text } = md.renderer.rules;
  md.renderer.rules.text = (...args) => (text?.(...args) ?? "").replaceAll("{{", "&#123;&#123;");

  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index];
    if (token?.info.trim() === "mermaid")
      return `<figure class="diagram" v-pre>${themeDiagram(drawDiagram(token.content, renderDiagram))}</figure>\n`;
    if (token !== undefined) token.info = LANGUAGES[token.info.trim()] ?? token.info;
    return fence?.(tokens, index, options, env, self) ?? "";
  };
}
