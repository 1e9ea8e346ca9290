/**
 * Every direct dependency: why we need it, its licence, and which artifacts contain it. Transitive ones are in the bill of
 * materials.
 */
import { readFileSync } from "node:fs";
import reasons from "../supply/reasons.json" with { type: "json" };
import { table } from "./markdown.ts";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version: string; readonly license?: string }>
  >;
}

const read = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
const why: Readonly<Record<string, string | undefined>> = reasons;

const workspaces = [
  ["The program, its tests and its tools", "."],
  ["The browser app", "web"],
  ["The demo application", "deploy/demo-app"],
] as const;

/** Dependencies without a reason, and reasons without a dependency. */
export function reasonProblems(): string[] {
  const asked = new Set(workspaces.flatMap(([, folder]) => namesOf(folder)));
  return [
    ...[...asked].filter((name) => why[name] === undefined).map((name) => `${name} has no reason`),
    ...Object.keys(why)
      .filter((name) => !asked.has(name))
      .map((name) => `${name} is asked for by nobody`),
  ];
}

export function dependenciesPage(): string {
  const { packages } = read("package-lock.json") as Lock;
  const sections = workspaces.map(([title, folder]) => {
    const rows = namesOf(folder).map((name) => {
      const found = packages[`${folder}/node_modules/${name}`] ?? packages[`node_modules/${name}`];
      return [`\`${name}\``, found?.version ?? "", found?.license ?? "", why[name] ?? ""];
    });
    return `## ${title}\n\n${table(["package", "version", "licence", "for"], rows)}\n`;
  });
  return `# Dependencies

Made by \`npm run docs\` from the manifests, the lock file and \`scripts/supply/reasons.json\`.

What a user installs is one package with everything bundled in ([decision 0005](../decisions/0005-bundled-dependencies.md)). Every build writes what went into it, read from the bundlers' own lists of files:
\`dist/gpulse/sbom.cdx.json\`, a bill of materials (CycloneDX) with every package, its licence and its hash, also of the native binaries of koffi and DuckDB, and \`dist/gpulse/THIRD-PARTY-LICENSES.txt\` with the texts of the licences. The same sources give the same bytes,
wherever they are built; a test builds twice and compares. [A release](../guides/release.md) is signed, and reports known vulnerabilities or that no advisories were there to check.

Not a dependency: \`mqtt\`. Its client adds 377 kB to every bundle (version 5.16.0, minified), where the publisher in \`src/net/mqtt\` needs 3.4 kB for CONNECT, PUBLISH and PING.

${sections.join("\n")}`;
}

function namesOf(folder: string): string[] {
  const manifest = read(`${folder}/package.json`) as Manifest;
  const { dependencies, devDependencies, optionalDependencies } = manifest;
  return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies }).sort();
}
