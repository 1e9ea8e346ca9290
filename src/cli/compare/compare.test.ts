import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { fastify } from "fastify";
import { afterAll, expect, test } from "vitest";
import type { Comparison } from "../../runs/compare/compare.ts";
import { addCompare } from "../../hub/compare/routes.ts";
import { labelSet } from "../../model/labels.ts";
import { createEngine } from "../../query/engine.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import { packRun, writeRunBytes } from "../../runs/file/file.ts";
import { fixtureRun, type RunFixtureOptions } from "../../../test/fixtures/runs/runs.ts";
import { buildProgram } from "../program.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-compare-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function gpulse(...args: readonly string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { program, exitCode } = buildProgram({
    env: {},
    stdout,
    stderr,
    version: "0.0.0-test",
    stopped: () => new Promise<string>(() => {}),
  });
  await program.parseAsync([...args], { from: "user" });
  const text = (stream: PassThrough) => String((stream.read() as Buffer | null) ?? "");
  return { code: exitCode(), out: text(stdout), err: text(stderr) };
}

const save = async (name: string, options: RunFixtureOptions): Promise<string> => {
  const file = path.join(folder, `${name}.gpulserun`);
  await writeRunBytes(file, (await packRun(fixtureRun({ id: name, ...options }))).bytes);
  return file;
};
const repeats = async (label: string, options: RunFixtureOptions) =>
  Promise.all(
    [-0.4, 0.1, 0.3].map((off, at) =>
      save(`${label}-${at}`, { label, ...options, watts: (options.watts ?? 200) + off }),
    ),
  );

test("equal work at 15 W more: the report, in every form, says that it is worse per watt", async () => {
  const files = [
    ...(await repeats("small", { watts: 230 })),
    ...(await repeats("large", { watts: 245 })),
  ];
  const html = path.join(folder, "report.html");
  const { code, out, err } = await gpulse("compare", ...files, "--html", html);
  expect(code).toBe(0);
  expect(out).toMatch(/large is 6\.\d % ± 0\.\d % worse per watt than small\./);
  expect(out).toMatch(/large draws 15(\.\d)? W more than small/);
  expect(err).toBe(`wrote ${html}\n`);
  const report = readFileSync(html, "utf8");
  expect(report).toContain("worse per watt than small");
  expect(report).toContain("<svg");
  expect(report).toContain("not MLPerf power");
  expect(report).not.toMatch(/(src|href)="|@import|url\(/);
  expect((await gpulse("compare", ...files, "--markdown")).out).toContain("worse per watt");
  const csv = (await gpulse("compare", ...files, "--csv")).out.split("\r\n");
  const row = csv.find((line) => line.startsWith("perWatt,") && line.includes(",large,"));
  expect(row).toContain(",real,");
});

test("files are grouped by label, or by --group, and a copy is no repeat", async () => {
  const [one = "", two = "", three = ""] = await repeats("one", {});
  const same = await gpulse("compare", one, two, three);
  expect(same.code).toBe(2);
  expect(same.err).toContain("--group");
  const pair = await gpulse("compare", one, two);
  expect(pair.code).toBe(0);
  expect(pair.out).toMatch(/one-0.*one-1|one-1.*one-0/s);
  const grouped = await gpulse("compare", "--group", `a=${one}`, "--group", `b=${two}`);
  expect(grouped.code).toBe(0);
  expect(grouped.out).toContain("cannot be decided yet");
  const copy = await gpulse("compare", one, one);
  expect(copy.code).toBe(2);
  expect(copy.err).toContain("a copy is not a repeat");
  const stars = path.join(folder, "one-*.gpulserun");
  const starred = await gpulse("compare", "--group", `a=${stars}`, "--group", "b=nowhere-*");
  expect(starred.err).toContain("no file matches nowhere-*");
});

test("a run whose system changed is warned of, and --strict makes that an exit code", async () => {
  const changed = {
    verdict: "changed" as const,
    changes: [
      { path: "driver", before: 1, after: 2, kind: "fact" as const, sentence: "Driver changed." },
    ],
    foreign: [],
  };
  const files = [
    ...(await repeats("x", {})),
    ...(await repeats("y", { run: { verdict: changed } })),
  ];
  const { code, out } = await gpulse("compare", ...files, "--strict");
  expect(code).toBe(1);
  expect(out).toContain("the system changed during the run: Driver changed.");
});

test("neither files nor GPUs, and both at once, are refused with what to do", async () => {
  expect((await gpulse("compare")).err).toContain("--gpu UUID --gpu UUID");
  expect((await gpulse("compare", "a", "--gpu", "b")).err).toContain("not both");
});

test("RX 7800 XT against RX 7700 XT, saturated and at one rate: what is said follows from the data", async () => {
  const stress = async (model: string, where: string, ...more: readonly string[]) => {
    const to = path.join(folder, where);
    const short = ["--for", "10s", "--warmup", "30s", "--baseline", "3s", "--sampling", "200ms"];
    const source = `sim:?model=${model}`;
    const { code, err } = await gpulse(
      "stress",
      "--source",
      source,
      "--folder",
      to,
      "--label",
      model,
      ...short,
      ...more,
    );
    expect(err).toContain("simulated");
    expect(code).toBe(0);
  };
  for (const [where, more] of [
    ["saturated", []],
    ["fixed", ["--rate", "30"]],
  ] as const) {
    await stress("RX7700XT", where, ...more);
    await stress("RX7800XT", where, ...more);
    const group = (model: string) => [
      "--group",
      `${model}=${path.join(folder, where, `${model}-*.gpulserun`)}`,
    ];
    const { out } = await gpulse("compare", ...group("RX7700XT"), ...group("RX7800XT"), "--json");
    const found = JSON.parse(out) as Comparison;
    const metric = (key: string) => {
      const one = found.metrics.find((candidate) => candidate.key === key);
      const [difference] = one?.differences ?? [];
      return { means: one?.of.map(({ mean = Number.NaN }) => mean) ?? [], difference };
    };
    const said = (key: string) => found.statements.find((one) => one.metric === key)?.text ?? "";
    const [power, work, perWatt] = [metric("power"), metric("throughput"), metric("perWatt")];
    const ratio = ([before = 0, after = 0]: readonly number[]) => after / before;
    // The value per watt follows from the two measured ones.
    expect(1 + (perWatt.difference?.ratio ?? 0)).toBeCloseTo(
      ratio(work.means) / ratio(power.means),
      3,
    );
    expect(perWatt.difference?.verdict).toBe("real");
    const better = ratio(work.means) > ratio(power.means);
    expect(said("perWatt")).toContain(better ? "better per watt" : "worse per watt");
    expect(said("power")).toContain(ratio(power.means) > 1 ? "W more" : "W less");
    const utilization = metric("utilization").means;
    if (where === "fixed") {
      // The same work: more power is worse per watt.
      expect(metric("throughput").difference?.verdict).not.toBe("real");
      expect(better).toBe(ratio(power.means) < 1);
      expect(ratio(utilization)).toBeLessThan(1);
      expect(said("utilization")).toMatch(/points\slower/);
    } else {
      expect(utilization.every((share) => share > 0.95)).toBe(true);
      expect(ratio(work.means)).toBeGreaterThan(1);
    }
  }
}, 120_000);

const hostile = `</style></script><script>alert(1)</script><img src=x onerror=alert(1)>"' autofocus onfocus="alert(1)`;

test("names, labels, hosts, models and units that are HTML are shown in the report, and do nothing in it", async () => {
  const gpu = fixtureRun().run.devices[0];
  if (gpu === undefined) throw new Error("BUG: a run without a GPU");
  const files = await Promise.all(
    ["one", "two"].map((name, at) =>
      save(`hostile-${name}`, {
        label: `${name} ${hostile}`,
        watts: 200 + 30 * at,
        run: {
          host: hostile,
          devices: [{ ...gpu, model: hostile, host: hostile }],
          work: { amount: 5, unit: hostile, from: "flag" },
          notes: [hostile],
        },
      }),
    ),
  );
  const html = path.join(folder, "hostile.html");
  expect((await gpulse("compare", ...files, "--html", html)).code).toBe(0);
  const report = readFileSync(html, "utf8");
  expect(report).toContain("&lt;script&gt;alert(1)");
  expect(report).toContain(`content="default-src 'none'; style-src 'unsafe-inline'`);
  expect(report).not.toMatch(/<(script|img|iframe|object|a|base|form)\b/i);
  expect(report.match(/<\/?style>/g)).toEqual(["<style>", "</style>"]);
  // Tags contain only gpulse's own attributes: an injected one would be found here.
  for (const tag of report.match(/<[a-z][^>]*>/g) ?? []) expect(tag).not.toMatch(/\son\w+=/i);
  const { out: markdown } = await gpulse("compare", ...files, "--markdown");
  expect(markdown).toContain("&lt;script&gt;alert(1)");
  expect(markdown).not.toMatch(/[<>]/);
});

test("a label that is a link or a picture in Markdown is a text there", async () => {
  const label = "![x](https://evil.example/p.png) [y](javascript:alert(1)) `z`\n# own heading";
  const files = await Promise.all([
    save("linked", { label }),
    save("unlinked", { label: "plain", watts: 230 }),
  ]);
  const { out } = await gpulse("compare", ...files, "--markdown");
  expect(out).toContain(String.raw`!\[x\](https://evil.example/p.png)`);
  expect(out).not.toMatch(/(?<!\\)\]\(|^# own/m);
});

test("a label that a spreadsheet would run is a text in the table", async () => {
  const label = '=HYPERLINK("https://evil.example")';
  const files = await Promise.all([
    save("formula", { label }),
    save("plain", { label: "plain", watts: 230 }),
  ]);
  const { out } = await gpulse("compare", ...files, "--csv");
  expect(out).toContain(`"'=HYPERLINK(""https://evil.example"")"`);
  expect(out).not.toMatch(/(^|,)"?=/m);
});

/** A hub with one GPU and the routes that comparing needs. */
async function startHub() {
  const [store, engine, app] = [new MemoryStore(), createEngine(), fastify()];
  const put = (name: string, at: number, value: number, more = {}) =>
    store.append(labelSet({ __name__: name, uuid: "GPU-1", host: "node-1", ...more }), at, value);
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  for (let at = now - 300_000; at <= now; at += 1_000) {
    put("gpu_power_watts", at, 150);
    put("gpu_info", at, 1, { model: "H200" });
  }
  await addCompare(app, {
    history: {
      instant: (query, timeMs, options) => engine.instant(query, timeMs, store, options),
      range: (query, fromMs, toMs, stepMs, options) =>
        engine.range(query, fromMs, toMs, stepMs, store, options),
      select: (matchers, fromMs, toMs) => store.select(matchers, fromMs, toMs),
      labelNames: (sets, fromMs, toMs) => store.labelNames(sets, fromMs, toMs),
      labelValues: (name, sets, fromMs, toMs) => store.labelValues(name, sets, fromMs, toMs),
      series: (sets, fromMs, toMs) => store.series(sets, fromMs, toMs),
    },
    nowMs: () => now,
    version: "0.0.0-test",
  });
  return { url: await app.listen({ port: 0, host: "127.0.0.1" }), stop: () => app.close() };
}

test("a GPU or host that the hub does not know ends with 2 and names those it knows", async () => {
  const { url, stop } = await startHub();
  const known = await gpulse("compare", "--gpu", "GPU-1", "--gpu", "GPU-1@-2m", "--url", url);
  expect([known.code, known.err]).toEqual([0, ""]);
  for (const [flag, name, list] of [
    ["--gpu", "UNKNOWN", "Known GPUs: GPU-1 (H200 on node-1)."],
    ["--host", "nowhere", "Known hosts: node-1."],
  ] as const) {
    const { code, out, err } = await gpulse("compare", "--gpu", "GPU-1", flag, name, "--url", url);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(`"${name}"`);
    expect(err).toContain(list);
  }
  await stop();
});
