import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterEach, expect, test } from "vitest";
import { readRuleFile } from "../../alerting/rules/file.ts";
import { requiredScope } from "../auth/required-scope.ts";
import { addOwnRules } from "./own-rules-api.ts";
import { OwnRules, ownRulesFile } from "./own-rules.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

async function hub(reload: () => Promise<void> = async () => undefined) {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-own-rules-"));
  folders.push(dataDir);
  const app = fastify();
  const sink = { routing: undefined, alertmanagers: { active: ["http://am"], dropped: [] } };
  await addOwnRules(app, new OwnRules(dataDir, reload), sink as never);
  const put = async (payload: object) => {
    const reply = await app.inject({ method: "PUT", url: "/api/rules/own", payload });
    return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() };
  };
  const names = async (): Promise<string[]> =>
    (await app.inject("/api/rules/own"))
      .json<{ rules: { name: string }[] }>()
      .rules.map(({ name }) => name);
  return { app, dataDir, file: ownRulesFile(dataDir), put, names };
}

const hot = {
  name: "HotGpu",
  expr: 'gpu_temperature_celsius{sensor="edge"} > 85',
  for: "5m",
  severity: "warning",
  summary: "GPU {{ $labels.gpu }} on {{ $labels.host }} is hot",
};

test("a rule is added, replaced, listed, exported as YAML that Prometheus reads, and deleted", async () => {
  let reloads = 0;
  const { app, file, put, names } = await hub(async () => void (reloads += 1));
  expect(await put(hot)).toEqual({ status: 200, body: { name: "HotGpu", version: 1 } });
  expect((await put({ ...hot, for: "10m" })).body["version"]).toBe(2);
  expect((await put({ ...hot, isNew: true })).status).toBe(409);
  expect(await names()).toEqual(["HotGpu"]);
  const yaml = await app.inject("/api/rules/own.yaml");
  expect(yaml.headers["content-disposition"]).toContain("gpulse-rules.yml");
  expect(yaml.body).toBe(readFileSync(file, "utf8"));
  expect(await readRuleFile(file)).toMatchObject([
    { name: "page", rules: [{ name: "HotGpu", forMs: 600_000, labels: { severity: "warning" } }] },
  ]);
  expect(readdirSync(path.dirname(file)).sort()).toEqual(["page.1.yml", "page.2.yml", "page.yml"]);
  expect((await app.inject({ method: "DELETE", url: "/api/rules/own/HotGpu" })).statusCode).toBe(
    200,
  );
  expect(await names()).toEqual([]);
  expect((await app.inject({ method: "DELETE", url: "/api/rules/own/HotGpu" })).statusCode).toBe(
    404,
  );
  expect(reloads).toBe(3);
});

test.each([
  [{ expr: "gpu_power_watts >" }, "could not parse expression"],
  [{ expr: "x".repeat(4_001) }, "at most 4000 characters"],
  [{ name: "two\nlines" }, "a name of up to 100"],
  [{ for: "soon" }, '"for" must be'],
  [{ severity: "loud" }, "one of critical, warning, info"],
  [{ summary: "{{ $labels.gpu" }, "template"],
  [{ run: "rm -rf" }, 'unknown key "run"'],
])("a rule with %j is refused with the reason, and the others stay", async (wrong, reason) => {
  const { put, names, file } = await hub();
  await put(hot);
  const before = readFileSync(file, "utf8");
  const reply = await put({ ...hot, name: "Other", ...wrong });
  expect(reply.status).toBe(400);
  expect(reply.body["error"]).toContain(reason);
  expect(await names()).toEqual(["HotGpu"]);
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("text in a rule cannot become YAML of its own", async () => {
  const { put, file } = await hub();
  await put({ ...hot, summary: "x\n  - alert: Injected\n    expr: vector(1)\n#: {} |" });
  const [group] = await readRuleFile(file);
  expect(group?.rules).toHaveLength(1);
});

test("a rule that the hub cannot use leaves the file as it was", async () => {
  let fails = false;
  const { put, names, file } = await hub(async () => {
    if (fails) throw new Error("duplicate group");
  });
  await put(hot);
  const before = readFileSync(file, "utf8");
  fails = true;
  const reply = await put({ ...hot, name: "Second" });
  expect(reply.status).toBe(400);
  expect(reply.body["error"]).toContain("duplicate group");
  expect(readFileSync(file, "utf8")).toBe(before);
  expect(await names()).toEqual(["HotGpu"]);
});

test("two changes at once are both made", async () => {
  const { put, names } = await hub();
  await Promise.all(["A", "B", "C"].map((name) => put({ ...hot, name })));
  expect((await names()).sort()).toEqual(["A", "B", "C"]);
});

test("a file that somebody damaged is reported and not overwritten", async () => {
  const { put, file, app } = await hub();
  await put(hot);
  writeFileSync(file, "groups: [");
  expect((await put({ ...hot, name: "Other" })).status).toBe(409);
  expect((await app.inject("/api/rules/own")).statusCode).toBe(409);
  expect(readFileSync(file, "utf8")).toBe("groups: [");
});

test("changing rules needs the admin scope, reading them read", () => {
  expect(requiredScope("PUT", "/api/rules/own")).toBe("admin");
  expect(requiredScope("DELETE", "/api/rules/own/:name")).toBe("admin");
  expect(requiredScope("GET", "/api/rules/own.yaml")).toBe("read");
});

test("a hub that sends to other Alertmanagers names them instead of receivers", async () => {
  const { app } = await hub();
  expect((await app.inject("/api/rules/receivers?severity=warning")).json()).toEqual({
    receivers: null,
    alertmanagers: ["http://am"],
  });
});
