// Makes a built site work under `script-src 'self'; style-src 'self'; img-src 'self'`: inline scripts and the pictures inside
// stylesheets become separate files, and style attributes are removed.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const INLINE_SCRIPT = /<script((?:\s+(?!src=)[\w-]+(?:="[^"]*")?)*)>([\s\S]+?)<\/script>/g;
const DATA_SVG = /url\((["'])data:image\/svg\+xml,([\s\S]*?)\1\)/g;

/** @param {string} text */
const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 8);

/**
 * @param {string} folder the built site
 * @param {string} base its path on the server
 * @param {ReadonlySet<string>} untouched files that are served unchanged
 */
export function harden(folder, base, untouched) {
  /** @param {string} name @param {string} text */
  const asset = (name, text) => {
    writeFileSync(path.join(folder, "assets", name), text);
    return `${base}assets/${name}`;
  };
  // Named by its content hash like every other asset, since those are cached for ever.
  const colours = readFileSync(path.join(folder, "assets", "code.css"), "utf8");
  rmSync(path.join(folder, "assets", "code.css"));
  const codeUrl = asset(`code.${digest(colours)}.css`, colours);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (untouched.has(path.relative(folder, file).replaceAll(path.sep, "/"))) continue;
    if (entry.name.endsWith(".html")) {
      const html = readFileSync(file, "utf8")
        .replaceAll(`${base}assets/code.css`, codeUrl)
        .replaceAll(
          INLINE_SCRIPT,
          (_whole, attributes, code) =>
            `<script${attributes} src="${asset(`inline.${digest(code)}.js`, code)}"></script>`,
        )
        .replaceAll(/(<[a-z][^<>]*?) style="[^"]*"/g, "$1");
      writeFileSync(file, html);
    } else if (entry.name.endsWith(".css")) {
      const css = readFileSync(file, "utf8").replaceAll(DATA_SVG, (_whole, _quote, encoded) => {
        const svg = decodeURIComponent(String(encoded).replaceAll(/%(?![0-9A-Fa-f]{2})/g, "%25"));
        return `url("${asset(`icon.${digest(svg)}.svg`, svg)}")`;
      });
      writeFileSync(file, css);
    }
  }
}
