import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { type LogFields, silentLog } from "../../../base/log.ts";
import { emitted } from "../../../../test/fixtures/sources/scrape.ts";
import { fileDiscovery, globPattern } from "./file.ts";
import type { DiscoveredGroup } from "./group.ts";

const ends: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function folder(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), "gpulse-file-sd-"));
  ends.push(() => rm(made, { recursive: true }));
  return made;
}

function follow(files: readonly string[], log = silentLog) {
  const discovery = fileDiscovery({ files, refreshIntervalMs: 300_000 }, log);
  ends.unshift(() => discovery.close());
  return emitted(discovery);
}

const addresses = (groups: readonly DiscoveredGroup[]): unknown =>
  groups.map(({ targets }) => targets.map((labels) => labels["__address__"]));

test("JSON and YAML files of a pattern are read, with the file as a label", async () => {
  const dir = await folder();
  await writeFile(path.join(dir, "a.json"), '[{"targets":["a:1"],"labels":{"env":"x"}}]');
  await writeFile(path.join(dir, "b.yml"), "- targets: ['b:1', 'b:2']\n");
  await writeFile(path.join(dir, "c.txt"), "not a list of targets");
  const groups = await follow([`${dir}/*.json`, `${dir}/*.yml`]).next();
  expect(groups).toEqual([
    {
      source: `${dir}/a.json:0`,
      targets: [{ __address__: "a:1" }],
      labels: { env: "x", __meta_filepath: `${dir}/a.json` },
    },
    {
      source: `${dir}/b.yml:0`,
      targets: [{ __address__: "b:1" }, { __address__: "b:2" }],
      labels: { __meta_filepath: `${dir}/b.yml` },
    },
  ]);
});

test("a change, a new file and a file that goes are seen without waiting for the interval", async () => {
  const dir = await folder();
  const file = path.join(dir, "a.json");
  await writeFile(file, '[{"targets":["a:1"]}]');
  const groups = follow([`${dir}/*.json`]);
  expect(addresses(await groups.next())).toEqual([["a:1"]]);
  await writeFile(`${file}.new`, '[{"targets":["a:2"]}]');
  await rename(`${file}.new`, file);
  expect(addresses(await groups.next())).toEqual([["a:2"]]);
  await writeFile(path.join(dir, "b.json"), '[{"targets":["b:1"]}]');
  expect(addresses(await groups.next())).toEqual([["a:2"], ["b:1"]]);
  await rm(file);
  expect(addresses(await groups.next())).toEqual([["b:1"]]);
});

test("a file that breaks keeps its last good targets and says what is wrong", async () => {
  const dir = await folder();
  const file = path.join(dir, "a.json");
  await writeFile(file, '[{"targets":["a:1"]}]');
  await writeFile(path.join(dir, "b.json"), '[{"targets":["b:1"]}]');
  const reported: LogFields[] = [];
  const groups = follow([`${dir}/*.json`], {
    ...silentLog,
    warn: (_message, fields = {}) => void reported.push(fields),
  });
  await groups.next();
  await writeFile(file, '[{"targets":["a:1"],"lables":{}}]');
  await writeFile(path.join(dir, "b.json"), '[{"targets":["b:2"]}]');
  expect(addresses(await groups.next())).toEqual([["a:1"], ["b:2"]]);
  expect(reported[0]).toMatchObject({
    file,
    error: expect.stringMatching(/unknown key "lables"/) as string,
  });
});

test.for([
  ["*.json", "a.json", true],
  ["*.json", "a.jsonx", false],
  ["a?.yml", "ab.yml", true],
  ["[ab]*.yml", "b1.yml", true],
  ["[^ab]*.yml", "b1.yml", false],
  ["a+(b).json", "a+(b).json", true],
] as const)("%s matches %s: %s", ([glob, name, want]) => {
  expect(globPattern(glob).test(name)).toBe(want);
});
