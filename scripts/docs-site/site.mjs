// The VitePress configuration. It is copied into the staged site, beside site.json, and receives the packages that exist only in
// the site's own installation.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { addRules, slugify } from "./markdown.mjs";

/**
 * @typedef {{ version: string, base: string, files: import("./pages.mjs").SiteFile[], sidebar: import("./pages.mjs").SidebarItem[] }} SiteData
 * @typedef {{ renderDiagram: (code: string) => string, codeClasses: { getCSS(): string } }} SiteParts
 */

/** @param {SiteParts} parts */
export function siteConfig({ renderDiagram, codeClasses }) {
  /** @type {SiteData} */
  const { version, base, files, sidebar } = JSON.parse(
    readFileSync(new URL("./site.json", import.meta.url), "utf8"),
  );
  return {
    base,
    title: "gpulse",
    titleTemplate: ":title | gpulse",
    description: "Documentation of gpulse, GPU monitoring from one machine to a fleet.",
    lang: "en",
    metaChunk: true,
    // Disabling transitions while the theme changes needs a style element, which the hub's policy blocks.
    appearance: { disableTransition: false },
    head: [
      ["link", { rel: "icon", type: "image/svg+xml", href: `${base}favicon.svg` }],
      ["link", { rel: "stylesheet", href: `${base}assets/code.css` }],
    ],
    markdown: {
      anchor: { slugify },
      codeTransformers: [codeClasses],
      config: (/** @type {import("./markdown.mjs").Markdown} */ md) =>
        addRules(md, { base, files, renderDiagram }),
    },
    themeConfig: {
      logo: "/favicon.svg",
      siteTitle: `gpulse ${version}`,
      search: { provider: "local", options: { detailedView: true } },
      notFound: {
        title: "No such page",
        quote:
          "The documentation has no page at this address. Search for it, or start at the overview.",
        linkText: "Open the overview",
      },
      outline: [2, 3],
      sidebar,
      nav: [
        { text: "Start", link: "/start/", activeMatch: "/start/" },
        { text: "Commands", link: "/reference/commands" },
        { text: "Configuration", link: "/reference/config" },
        { text: "Metrics", link: "/reference/metrics" },
        { text: "Changelog", link: "/changelog" },
      ].filter(({ link }) =>
        files.some(({ target }) => [`${link}.md`, `${link}index.md`].includes(`/${target}`)),
      ),
    },
    vite: { logLevel: "warn", build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4096 } },
    buildEnd: (/** @type {{ outDir: string }} */ { outDir }) =>
      writeFileSync(path.join(outDir, "assets", "code.css"), codeClasses.getCSS()),
  };
}
