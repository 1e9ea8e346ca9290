import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { repository } from "../../engines/program.ts";
import { LAYERS } from "../architecture/direction.ts";
import { chartMistakes } from "./mermaid.ts";
import { codeBlocks, inlineCode, pages, readPage } from "./pages.ts";

const architecture = readPage("ARCHITECTURE.md");
const isFolder = (file: string): boolean =>
  existsSync(path.join(repository, file)) && statSync(path.join(repository, file)).isDirectory();
/** True for build output, which a fresh clone does not have. */
const isMade = (file: string): boolean => file.startsWith("dist");

const charts = pages().flatMap(({ file, text }) =>
  codeBlocks(text)
    .filter(({ language }) => language === "mermaid")
    .map(({ code }) => ({ file, code })),
);

test("every diagram can be drawn", () => {
  const wrong = charts.flatMap(({ file, code }) =>
    chartMistakes(code).map((mistake) => `${file}: ${mistake}`),
  );
  expect(wrong).toEqual([]);
});

test("the architecture has its diagrams: flow, agent, hub, shapes", () => {
  expect(charts.filter(({ file }) => file === "ARCHITECTURE.md")).toHaveLength(4);
});

test("every folder the architecture names is there", () => {
  const named = inlineCode(architecture.text).filter((code) =>
    /^[\w-]+(?:\/[\w-]+)*\/$/.test(code),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((folder) => !isMade(folder) && !isFolder(folder))).toEqual([]);
});

test("the architecture names every folder of the layers, and what lies in deploy", () => {
  const words = new Set(inlineCode(architecture.text));
  expect(LAYERS.flat().filter((folder) => !words.has(folder))).toEqual([]);
  const deployed = readdirSync(path.join(repository, "deploy"), { withFileTypes: true });
  const folders = deployed.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(folders.filter((name) => !words.has(`deploy/${name}/`))).toEqual([]);
});

test.for([
  ['flowchart LR\n a["A"] --> b["B"]\n b -- "to, by" --> a', []],
  ["flowchart LR\n a --> b", ["a is used and not declared", "b is used and not declared"]],
  ["graph LR", ['it begins with "graph LR", not with flowchart LR or TB']],
  ['flowchart TB\n subgraph g["G"]\n a["A"]', ["a subgraph has no end"]],
  ['flowchart TB\n a["A"]\n end', ["an end closes nothing"]],
  ['flowchart LR\n a["A"] -> a', ['no arrow at " -> a" in "a["A"] -> a"']],
  ['flowchart LR\n b["B"]\n b["A" --> b', ['no arrow at "["A" --> b" in "b["A" --> b"']],
  ['flowchart LR\n a["A"] -->', ['no node at "" in "a["A"] -->"']],
  ['flowchart LR\n a["A"]\n a["B"]', ["a is declared twice"]],
] as const)("%j: %j", ([code, mistakes]) => {
  expect(chartMistakes(code)).toEqual(mistakes);
});
