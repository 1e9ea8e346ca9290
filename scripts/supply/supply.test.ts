// What comes from others: every package has its reason and a licence that lets us ship it, and the build says what is in it.

import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { reasonProblems } from "../reference/dependencies.ts";
import { packageFolder } from "./packages.mjs";

interface Component {
  readonly name: string;
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

/** Licences that ask for their text to travel along, and for nothing else. */
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
  const told = bundled.map(
    ({ name, licenses }) =>
      [name, licenses?.[0]?.license?.id ?? licenses?.[0]?.expression ?? "none"] as const,
  );
  expect(told.filter(([, license]) => !fine.has(license))).toEqual([]);
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
