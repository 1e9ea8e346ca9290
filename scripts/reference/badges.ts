/** README's badges: small SVG files, so that the page loads nothing from another server. Each value is from package.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../../engines/program.ts";
import type { GeneratedPage } from "./pages.ts";

const height = 20;
const padding = 8;
/** Mean width of a character of 11 px Verdana, the widest of the fonts below. */
const characterWidth = 7;

export const badges: readonly GeneratedPage[] = [
  badge("version", "version", ({ version }) => version),
  badge("licence", "licence", ({ license }) => license),
  badge("node", "node", ({ engines }) => engines.node),
];

interface PackageManifest {
  readonly version: string;
  readonly license: string;
  readonly engines: { readonly node: string };
}

function badge(
  name: string,
  label: string,
  value: (manifest: PackageManifest) => string,
): GeneratedPage {
  return {
    path: `docs/images/badge-${name}.svg`,
    render: () => {
      const manifest = readFileSync(join(repository, "package.json"), "utf8");
      return renderBadge(label, value(JSON.parse(manifest) as PackageManifest));
    },
  };
}

function renderBadge(label: string, value: string): string {
  const text = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const left = label.length * characterWidth + 2 * padding;
  const right = value.length * characterWidth + 2 * padding;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${height}" role="img" aria-label="${label} ${text}">
  <clipPath id="round"><rect width="${left + right}" height="${height}" rx="3"/></clipPath>
  <g clip-path="url(#round)">
    <rect width="${left}" height="${height}" fill="#444"/>
    <rect x="${left}" width="${right}" height="${height}" fill="#0a6c4a"/>
  </g>
  <g fill="#fff" text-anchor="middle" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
    <text x="${left / 2}" y="14">${label}</text>
    <text x="${left + right / 2}" y="14">${text}</text>
  </g>
</svg>
`;
}
