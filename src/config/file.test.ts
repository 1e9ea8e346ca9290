import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import * as v from "valibot";
import { GpulseError } from "../base/error.ts";
import { durationMs, flag, logLevel, port, text } from "./fields.ts";
import { checkText, loadFile } from "./file.ts";

const folder = mkdtempSync(join(tmpdir(), "gpulse-config-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "token"), "s3cret-from-file\n");
writeFileSync(join(folder, "empty"), "\n");

const schema = v.strictObject({
  interval: v.optional(durationMs(100, 86_400_000)),
  log_level: v.optional(logLevel()),
  token: v.optional(text()),
  ports: v.optional(v.array(port())),
  agent: v.optional(v.strictObject({ port: v.optional(port()), open: v.optional(flag()) })),
});

async function problems(yaml: string, env: Record<string, string> = {}): Promise<string[]> {
  const checked = await checkText(yaml, join(folder, "g.yaml"), schema, env);
  return checked.ok
    ? []
    : checked.problems.map(({ sentence }) => sentence.slice(folder.length + 1));
}

test("a sound file comes out with its values read", async () => {
  const checked = await checkText(
    "interval: 1m30s\nlog_level: WARNING\nagent: { port: 9400, open: true }\n",
    "g.yaml",
    schema,
    {},
  );
  expect(checked).toEqual({
    ok: true,
    value: { interval: 90_000, log_level: "warn", agent: { port: 9400, open: true } },
  });
});

test("an empty file is a sound file", async () => {
  expect(await problems("")).toEqual([]);
  expect(await problems("# nothing yet\n")).toEqual([]);
});

test.each([
  ["intervall: 1s", 'g.yaml:1:1: unknown key "intervall". Did you mean "interval"?'],
  ["agent:\n  prot: 1", 'g.yaml:2:3: unknown key "agent.prot". Did you mean "port"?'],
  [
    "zzz: 1",
    'g.yaml:1:1: unknown key "zzz". Known keys: interval, log_level, token, ports, agent.',
  ],
  [
    "interval: soon",
    'g.yaml:1:1: "interval" must be a duration such as 1s or 500ms, from 100ms to 1d, not "soon".',
  ],
  [
    "interval: 1ms",
    'g.yaml:1:1: "interval" must be a duration such as 1s or 500ms, from 100ms to 1d, not "1ms".',
  ],
  [
    "agent:\n  port: 70000",
    'g.yaml:2:3: "agent.port" must be a whole number from 0 to 65535, not 70000.',
  ],
  [
    "agent:\n  port: [1]",
    'g.yaml:2:3: "agent.port" must be a whole number from 0 to 65535, not [1].',
  ],
  [
    "ports:\n  - 1\n  - x",
    'g.yaml:3:5: "ports.1" must be a whole number from 0 to 65535, not "x".',
  ],
  ["agent: 5", 'g.yaml:1:1: "agent" must be a mapping of keys.'],
  ["- 1", "g.yaml:1:1: must be a mapping of keys."],
])("%j: %s", async (yaml, sentence) => expect(await problems(yaml)).toEqual([sentence]));

test("broken YAML says where", async () => {
  expect(await problems("a: [1")).toEqual([
    expect.stringMatching(/^g\.yaml:1:\d+: not valid YAML: /),
  ]);
  expect(await problems("interval: 1s\ninterval: 2s")).toEqual([
    expect.stringMatching(/^g\.yaml:2:1: not valid YAML: .*unique/),
  ]);
});

test("every mistake is reported, not only the first", async () => {
  expect(await problems("intervall: 1s\nagent:\n  port: x\n")).toHaveLength(2);
});

test("a file of aliases within aliases is refused instead of blown up", async () => {
  const bomb = `a: &a [1,2,3,4,5,6,7,8,9]\n${"bcdefgh"
    .split("")
    .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[i]}`).join(",")}]`)
    .join("\n")}\n`;
  expect(await problems(bomb)).toEqual([expect.stringMatching(/^g\.yaml:1:1: not valid YAML: /)]);
});

test("secrets come from variables and files, and their values are never in a message", async () => {
  const checked = await checkText("token: pre-${TOKEN}", "g.yaml", schema, { TOKEN: "abc" });
  expect(checked.ok && checked.value.token).toBe("pre-abc");
  const fromFile = await checkText("token: file:token", join(folder, "g.yaml"), schema, {});
  expect(fromFile.ok && fromFile.value.token).toBe("s3cret-from-file");
  const plain = await checkText("token: $${TOKEN}", "g.yaml", schema, {});
  expect(plain.ok && plain.value.token).toBe("${TOKEN}");
  const [said] = await problems("interval: ${TOKEN}", { TOKEN: "hunter2" });
  expect(said).not.toContain("hunter2");
  expect(said).toContain("must be a duration");
});

test.each([
  [
    "token: ${NOWHERE}",
    '"token" needs the variable NOWHERE, which is not set: set it before starting.',
  ],
  ["token: file:nowhere", /"token" is read from the file .*nowhere, which does not exist\./],
  ["token: file:empty", /"token" is read from the file .*empty, which is empty\./],
])("a missing secret is said: %s", async (yaml, sentence) => {
  const thrown: unknown = await checkText(yaml, join(folder, "g.yaml"), schema, {}).catch(
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(GpulseError);
  expect((thrown as GpulseError).code).toBe("CONFIG_MISSING_SECRET");
  expect((thrown as GpulseError).message).toMatch(sentence);
});

test.each([
  ["missing.yaml", /does not exist\.$/],
  [".", /is a folder\.$/],
])("a file that cannot be read is said: %s", async (name, sentence) => {
  await expect(loadFile(join(folder, name), schema, {})).rejects.toThrow(sentence);
});

test("text that begins with * is reported without being shown: it may be a password", async () => {
  const checked = await checkText("token: *hunter2", "x.yaml", schema, {});
  expect(JSON.stringify(checked)).not.toContain("hunter2");
  expect(JSON.stringify(checked)).toContain("quote text that begins with *");
});
