import type { Command } from "commander";
import { afterEach, expect, test, vi } from "vitest";
import type { CommandIo } from "./command/io.ts";
import { parseToExit } from "./command/parse.ts";
import { resolveSettings } from "./command/settings.ts";
import { parseDurationMs } from "../config/duration.ts";
import { buildProgram } from "./program.ts";

const io: CommandIo = {
  env: {},
  stdout: process.stdout,
  stderr: process.stderr,
  version: "0.0.0",
  onReload: () => {},
  stopped: () => new Promise(() => {}),
};

afterEach(() => void vi.restoreAllMocks());

async function gpulse(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => (out += String(text)) !== "");
  vi.spyOn(process.stderr, "write").mockImplementation((text) => (err += String(text)) !== "");
  const { program, exitCode } = buildProgram(io);
  const parsed = await parseToExit(program, args);
  vi.restoreAllMocks();
  return { code: parsed === 0 ? exitCode() : parsed, out, err };
}

/** All commands and subcommands, as lists of names. */
function everyCommand(parent: Command = buildProgram(io).program): string[][] {
  return parent.commands.flatMap((command) => [
    [command.name()],
    ...everyCommand(command).map((words) => [command.name(), ...words]),
  ]);
}

test.for(everyCommand().map((words) => [words.join(" "), words] as const))(
  "gpulse %s --help and gpulse help %s show its own usage",
  async ([name, words]) => {
    const asFlag = await gpulse(...words, "--help");
    expect([asFlag.code, asFlag.err]).toEqual([0, ""]);
    expect(asFlag.out).toContain(`Usage: gpulse ${name} `);
    expect(await gpulse("help", ...words)).toEqual(asFlag);
    const [group = "", ...rest] = words;
    if (rest.length > 0) expect(await gpulse(group, "help", ...rest)).toEqual(asFlag);
  },
);

test.for([
  [["help", "nosuch"], 'gpulse: there is no command "nosuch". Commands: up, agent, '],
  [["help", "agnet"], 'gpulse: there is no command "agnet". Did you mean "agent"?\n'],
  [
    ["help", "user", "enabel"],
    'there is no command of gpulse user "enabel". Did you mean "enable"?\n',
  ],
  [
    ["user", "help", "nosuch"],
    'there is no command of gpulse user "nosuch". Commands: add, list, ',
  ],
  [["help", "agent", "nosuch"], 'there is no command of gpulse agent "nosuch".\n'],
  [["nosuch"], 'gpulse: there is no command "nosuch". Commands: up, agent, '],
  [["query", "up", "--json", "--csv"], "'--json' cannot be used with option '--csv'"],
  [["top", "--once", "--json", "--csv"], "'--json' cannot be used with option '--csv'"],
  [
    ["runs", "list", "--folder", "/nonexistent/runs"],
    "There is no folder /nonexistent/runs. Check the path",
  ],
] as const)("gpulse %j is a usage error", async ([args, sentence]) => {
  const { code, out, err } = await gpulse(...args);
  expect(err).toContain(sentence);
  expect([code, out]).toEqual([2, ""]);
});

test("a word that only looks like help stays an argument", async () => {
  const { err } = await gpulse("query", "help", "--json", "--csv");
  expect(err).toContain("cannot be used");
});

test("user enable does not claim to end sessions", async () => {
  expect((await gpulse("user", "enable", "--help")).out).not.toContain("Ends");
  expect((await gpulse("user", "disable", "--help")).out).toContain("Ends the sessions");
});

const leaves = (parent: Command = buildProgram(io).program): Command[] =>
  parent.commands.flatMap((command) =>
    command.commands.length === 0 || command.registeredArguments.length > 0
      ? [command, ...leaves(command)]
      : leaves(command),
  );

const nameOf = (command: Command): string =>
  command.parent?.parent === null ? command.name() : `${command.parent?.name()} ${command.name()}`;

test("every command and every group has examples", async () => {
  for (const words of [[], ...everyCommand()]) {
    const { out } = await gpulse(...words, "--help");
    expect(out, words.join(" ")).toMatch(/^Examples:\n {2}(gpulse|source)/m);
  }
});

/** Commands without structured output, and why. */
const withoutJson: Readonly<Record<string, string>> = {
  "jobs report": "writes a page or a text; jobs show --json has the data",
  "jobs export": "it prints JSON lines",
  completion: "prints a shell script",
};

test("every command that prints data has --json", () => {
  const without = leaves()
    .filter(({ options }) => !options.some(({ long }) => long === "--json"))
    .map(nameOf);
  expect(without).toEqual(Object.keys(withoutJson));
});

/** Options without effect unless given; every other option with a value has a documented default. */
const withoutDefault = new Set(
  [
    ["alertmanager", "alertmanager-config", "allow-outbound", "client-cert", "client-key", "co2"],
    ["capture", "compat", "csv", "filter", "from", "group", "hosts", "html", "json", "junit"],
    ["label", "lake-mirror", "markdown", "output", "phase-pattern", "price", "push"],
    [
      "prometheus",
      "prometheus-token",
      "prometheus-ca",
      "prometheus-config",
      "processing",
      "rules",
      "run",
      "seal",
      "spark-conf",
      "stage",
    ],
    ["store", "tag", "threshold", "tls-cert", "tls-client-ca", "tls-key", "to", "url"],
    ["file", "web-config-file", "web.config.file", "with-hub", "work", "work-metric"],
    ["work-pattern", "gpu-name", "source"],
  ].flat(),
);

test("every option that has a default shows it in --help", () => {
  const unclear = leaves().flatMap((command) =>
    command.options
      .filter(({ required, optional }) => required || optional)
      .filter(({ description }) => !/\(default: [^)]+/.test(description))
      .filter(({ long }) => !withoutDefault.has(long?.slice(2) ?? ""))
      .map(({ long }) => `${nameOf(command)} ${long}`),
  );
  expect(unclear).toEqual([]);
});

test("the defaults that settings use are those that --help shows", async () => {
  const settings = await resolveSettings("hub", { config: "/dev/null" }, {});
  const { options } = leaves().find((command) => nameOf(command) === "hub") ?? { options: [] };
  const shown = (flag: string): string | undefined =>
    /\(default: ([^)]+)\)/.exec(options.find(({ long }) => long === flag)?.description ?? "")?.[1];
  expect(shown("--port")).toBe(String(settings.listen.port));
  expect(shown("--host")).toBe(settings.listen.host);
  expect(shown("--data")).toBe(settings.dataDir);
  expect(parseDurationMs(shown("--retention") ?? "")).toBe(settings.retentionMs);
  expect(parseDurationMs(shown("--lake-retention") ?? "")).toBe(settings.lake.retentionMs);
  expect(shown("--durability")).toBe(settings.durability);
  expect(shown("--log-level")).toBe(settings.logLevel);
});
