// Third-party packages: every package has its reason and a licence that lets us ship it, and the build lists its packages.

import { existsSync, readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { reasonProblems } from "../reference/dependencies.ts";
import { besidePackages, binariesBelow } from "./native-packages.mjs";
import { packageFolder } from "./packages.mjs";

interface Hash {
  readonly alg: string;
  readonly content: string;
}
interface Component {
  readonly name: string;
  readonly hashes?: readonly Hash[];
  readonly components?: readonly { readonly name: string; readonly hashes: readonly Hash[] }[];
  readonly version: string;
  readonly scope: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id: string };
    readonly expression?: string;
  }[];
  readonly properties?: readonly { readonly value: string }[];
}

const { components } = JSON.parse(readFileSync("dist/gpulse/sbom.cdx.json", "utf8")) as {
  components: readonly Component[];
};
const bundled = components.filter(({ scope }) => scope === "required");

/** Licences whose only condition is to include their text. */
const fine = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "MIT-0",
  "Unlicense",
]);

test("every package that is asked for has a reason, and every reason its package", () => {
  expect(reasonProblems()).toEqual([]);
});

test("no bundled package has a licence that asks for more than its text", () => {
  const reported = bundled.map(
    ({ name, licenses }) =>
      [name, licenses?.[0]?.license?.id ?? licenses?.[0]?.expression ?? "none"] as const,
  );
  expect(reported.filter(([, license]) => !fine.has(license))).toEqual([]);
});

test.each(["agent", "gpulse", "lambda"])(
  "the bill of materials names every package of %s",
  (part) => {
    const inputs = JSON.parse(readFileSync(`dist/${part}/inputs.json`, "utf8")) as {
      static: string[];
      lazy: string[];
    };
    const folders = new Set(
      [...inputs.static, ...inputs.lazy].map(packageFolder).filter((one) => one !== undefined),
    );
    const listed = bundled.filter(({ properties }) =>
      properties?.some(({ value }) => value === part),
    );
    expect(listed).toHaveLength(folders.size);
  },
);

test("the browser app's packages are in it as well", () => {
  const inPage = bundled
    .filter(({ properties }) => properties?.some(({ value }) => value === "web"))
    .map(({ name }) => name);
  expect(inPage).toEqual(expect.arrayContaining(["preact", "uplot", "@codemirror/view"]));
});

test("koffi and DuckDB stand beside the bundle: every package and native binary has its hash, for every platform", () => {
  const beside = components.filter(({ scope }) => scope === "optional");
  const native = beside.filter(({ components: files }) => files !== undefined);
  expect(beside.map(({ name }) => name)).toEqual(besidePackages().map(({ name }) => name));
  expect(native.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["@koromix/koffi-linux-x64", "@duckdb/node-bindings-linux-arm64"]),
  );
  for (const { name, hashes } of beside)
    expect([name, hashes?.[0]?.alg, hashes?.[0]?.content.length]).toEqual([name, "SHA-512", 128]);
  for (const { name, components: files = [] } of native) {
    expect(files.length, name).toBeGreaterThan(0);
    for (const { hashes } of files) expect(hashes[0]?.content).toMatch(/^[0-9a-f]{64}$/);
  }
});

test("the native binaries installed here are those of the bill of materials", () => {
  const here = components.filter(
    ({ name, components: files }) => files !== undefined && existsSync(`node_modules/${name}`),
  );
  expect(here.length).toBeGreaterThan(0);
  for (const { name, components: files = [] } of here)
    expect([name, binariesBelow(`node_modules/${name}`)]).toEqual([
      name,
      Object.fromEntries(files.map((file) => [file.name, file.hashes[0]?.content])),
    ]);
});

test("the licences' texts name every bundled package", () => {
  const texts = readFileSync("dist/gpulse/THIRD-PARTY-LICENSES.txt", "utf8");
  expect(bundled.filter(({ name, version }) => !texts.includes(`${name} ${version} (`))).toEqual(
    [],
  );
});

test("a lock file names packages and their hashes, and no registry", () => {
  for (const file of ["package-lock.json"])
    expect(readFileSync(file, "utf8").match(/"resolved": "(?!web"|deploy\/demo-app")/g)).toBeNull();
});

test.each([
  ["node_modules/a/index.js", "node_modules/a"],
  ["node_modules/@s/a/lib/x.js", "node_modules/@s/a"],
  ["node_modules/a/node_modules/@s/b/x.js", "node_modules/a/node_modules/@s/b"],
  ["src/x.ts", undefined],
])("%s is of %s", (file, folder) => {
  expect(packageFolder(file)).toBe(folder);
});
