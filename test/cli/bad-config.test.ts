import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ensureBuild, runGpulse } from "../../engines/program.ts";

const folder = mkdtempSync(join(tmpdir(), "gpulse-cli-"));
beforeAll(ensureBuild, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

function config(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

/** Expects one sentence on standard error, nothing on standard output, no stack trace, and exit code 2. */
async function refused(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runGpulse(args);
  expect(stdout).toBe("");
  expect(stderr.trimEnd().split("\n"), stderr).toHaveLength(1);
  expect(stderr).not.toMatch(/\n\s+at |BUG/);
  expect(code, stderr).toBe(2);
  return stderr.trim();
}

test.for([
  ["unknown key", "intervall: 1s\n", 'unknown key "intervall". Did you mean "interval"?'],
  ["unknown nested key", "agent: { prot: 1 }\n", 'unknown key "agent.prot". Did you mean "port"?'],
  ["wrong type", "agent: { port: many }\n", '"agent.port" must be a whole number'],
  ["out of bounds", "interval: 1ms\n", '"interval" must be a duration'],
  ["missing variable", "host_name: ${NO_SUCH_VARIABLE}\n", "needs the variable NO_SUCH_VARIABLE"],
  ["missing secret file", "host_name: file:nowhere\n", "which does not exist"],
  ["broken YAML", "interval: [\n", "not valid YAML"],
  ["unknown source", "sources: [sin:8]\n", 'Did you mean "sim"?'],
  ["bad source option", "sources: [{ sim: { gpu: 8 } }]\n", 'Did you mean "gpus"?'],
] as const)("%s in gpulse.yaml, for both programs", async ([name, text, sentence]) => {
  const file = config(`${name.replaceAll(" ", "-")}.yaml`, text);
  expect(await refused(["agent", "--config", file])).toContain(sentence);
  expect(await refused(["up", "--no-open", "--config", file])).toContain(sentence);
});

test.for([
  [["agent", "--config", "no-such-file.yaml"], "no-such-file.yaml does not exist."],
  [["agent", "--config", "."], "is a folder."],
  [["agent", "--interval", "soon"], "--interval must be a duration"],
  [["query", "up", "--since", "1x"], '1ms to 36500d, not "1x".'],
  [["hub", "--retention", "5m"], 'such as 2h or 30d, from 1h to 365000d, not "5m".'],
  [["hub", "--retention-size", "5MB"], 'a size such as 50GB, from 64MB, not "5MB".'],
  [["hub", "--retention-rule", "up"], "--retention-rule must be a selector and a duration"],
  [["hub", "--retention-rule", "up: 90d"], "is longer than the retention of 30d"],
  [["hub", "--retention-rule", "{}: 7d"], "has no valid selector"],
  [["hub", "--durability", "disk"], 'one of process, power, not "disk".'],
  [["agent", "--port", "70000"], "--port must be a whole number from 0 to 65535"],
  [["agent", "--source", "sin:8"], 'Did you mean "sim"?'],
  [["agent", "--prot", "1"], "Did you mean --port?"],
  [["agent", "--metrics-path", "/stats"], "--metrics-path must be a different path"],
  [["agent", "--log-level", "loud"], "--log-level must be one of"],
  [["agent", "--host", "192.0.2.1", "--source", "sim:1"], "does not have the address 192.0.2.1"],
  [["up", "--no-open", "--host", "0.0.0.0"], "--insecure"],
  [["nope"], "nope"],
  [["pipe"], "--from"],
  [["pipe", "--from", "sim:1", "--to", "stdot:"], 'Did you mean "stdout"?'],
  [["stats", "--url", "nonsense"], "--url must be a URL"],
] as const)("%j is refused: %s", async ([args, sentence]) => {
  expect(await refused(args)).toContain(sentence);
});

test.for(["agent", "up"])("%s says which port is in use and what to do", async (command) => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const data = command === "up" ? ["--data", join(folder, "data")] : [];
  const said = await refused([
    command,
    ...data,
    "--source",
    "sim:1",
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
    "--log-level",
    "error",
  ]);
  expect(said).toContain(`Port ${port} on 127.0.0.1 is in use`);
  expect(said).toContain("--port");
  server.close();
});

test("variables are read like flags, and their mistakes named", async () => {
  process.env["COLLECTION_INTERVAL"] = "sometimes";
  try {
    expect(await refused(["agent", "--source", "sim:1"])).toContain(
      "COLLECTION_INTERVAL must be a duration",
    );
  } finally {
    delete process.env["COLLECTION_INTERVAL"];
  }
});

test("config check says every mistake at once, and nothing but that it is valid otherwise", async () => {
  const bad = await runGpulse([
    "config",
    "check",
    config("two.yaml", "intervall: 1s\nagent: { port: x }\n"),
  ]);
  expect([bad.code, bad.stderr.trim().split("\n").length]).toEqual([2, 2]);
  const good = await runGpulse(["config", "check", config("good.yaml", "sources: [sim:8]\n")]);
  expect([good.code, good.stderr]).toEqual([0, ""]);
  const asJson = await runGpulse([
    "config",
    "check",
    "--json",
    config("three.yaml", "log_level: loud\n"),
  ]);
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    valid: false,
    problems: [{ code: "CONFIG_WRONG_VALUE" }],
  });
});

test.for([
  ["prom.yml", "alerting: {}\nscrape_configs: [{ job_name: a, scrape_intervall: 5s }]\n"],
  ["am.yml", "route: { receiver: a, group_wait: soon }\nreceivers: [{ name: a }]\n"],
] as const)("config check knows whose file %s is by its keys", async ([name, text]) => {
  const said = await refused(["config", "check", config(name, text)]);
  expect(said).toMatch(/scrape_intervall|group_wait/);
  expect(said).not.toContain("Known keys");
});
