// Two files that are part of every build: the bill of materials, for scanners, and the licences of bundled packages, for people.
// Both depend only on the build, without time or randomness, so that the same sources give the same bytes.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { root } from "../bootstrap.mjs";
import { besidePackages } from "./native-packages.mjs";
import { licenseText, shippedPackages } from "./packages.mjs";

/** @typedef {import("./packages.mjs").Package} Package */

/** @type {Record<string, { version: string, files: Record<string, string> } | undefined>} */
const nativeHashes = JSON.parse(
  readFileSync(path.join(root, "scripts", "supply", "native.json"), "utf8"),
);

const purl = (/** @type {string} */ name, /** @type {string} */ version) =>
  `pkg:npm/${name.replace("@", "%40")}@${version}`;

/** @param {readonly Package[]} packages */
function sbomOf(packages) {
  const { name, version, license } = JSON.parse(
    readFileSync(path.join(root, "package.json"), "utf8"),
  );
  const outside = besidePackages();
  const digest = createHash("sha256")
    .update(JSON.stringify([packages, outside, nativeHashes]))
    .digest("hex");
  const own = purl(name, version);
  const bundled = packages.map((one) => ({
    ...component(one, `${purl(one.name, one.version)}#${one.folder}`),
    scope: "required",
    properties: one.parts.map((part) => ({ name: "gpulse:bundled-in", value: part })),
  }));
  const beside = outside.map((one) => ({
    ...component(one, purl(one.name, one.version)),
    scope: "optional",
    ...(one.platform === undefined
      ? {}
      : {
          properties: [{ name: "gpulse:platform", value: one.platform }],
          components: binariesOf(one),
        }),
  }));
  const components = [...bundled, ...beside];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: `urn:uuid:${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`,
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": own,
        name,
        version,
        purl: own,
        licenses: [{ license: { id: license } }],
      },
    },
    components,
    dependencies: [{ ref: own, dependsOn: components.map((one) => one["bom-ref"]) }],
  };
}

/** @param {import("./native-packages.mjs").BesidePackage} one @param {string} ref */
function component({ name, version, license, integrity }, ref) {
  return {
    type: "library",
    "bom-ref": ref,
    name,
    version,
    purl: purl(name, version),
    licenses: [/^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }],
    ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
  };
}

/**
 * The files that a program loads from a native package, from `native.json`.
 * @param {import("./native-packages.mjs").BesidePackage} one
 */
function binariesOf({ name, version }) {
  const known = nativeHashes[name];
  if (known?.version !== version)
    throw new Error(`native.json does not know ${name}@${version}: node scripts/supply/native.mjs`);
  return Object.entries(known.files).map(([file, sum]) => ({
    type: "file",
    "bom-ref": `${purl(name, version)}#${file}`,
    name: file,
    hashes: [{ alg: "SHA-256", content: sum }],
  }));
}

/** Parses a lock file's integrity: sha512-BASE64. @param {string} integrity */
function hashOf(integrity) {
  const at = integrity.indexOf("-");
  const content = Buffer.from(integrity.slice(at + 1), "base64").toString("hex");
  return { alg: `SHA-${integrity.slice(3, at)}`, content };
}

/** Groups packages with identical licence texts. @param {readonly Package[]} packages */
function noticesOf(packages) {
  /** @type {Map<string, string[]>} */
  const byText = new Map();
  for (const one of packages) {
    const text = licenseText(one);
    const title = `${one.name} ${one.version} (${one.license})`;
    byText.set(text, [...(byText.get(text) ?? []), title]);
  }
  const line = "-".repeat(100);
  const notices = [...byText].map(
    ([text, titles]) =>
      `${line}\n${titles.join("\n")}\n\n${text === "" ? "No text of the licence comes with the package." : text}\n`,
  );
  return `gpulse bundles these packages, each under its own licence.\n\n${notices.join("\n")}`;
}

/**
 * @param {string} folder where the whole program is built
 * @param {Record<string, readonly string[]>} filesByPart
 */
export function writeSupply(folder, filesByPart) {
  const packages = shippedPackages(filesByPart);
  writeFileSync(
    path.join(folder, "sbom.cdx.json"),
    `${JSON.stringify(sbomOf(packages), null, 2)}\n`,
  );
  writeFileSync(path.join(folder, "THIRD-PARTY-LICENSES.txt"), noticesOf(packages));
}
