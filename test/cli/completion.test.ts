// Tests the completion scripts in real shells: bash calls the function, fish runs `complete -C`, zsh runs on a terminal.

import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";

import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-completion-"));
const shells = ["bash", "zsh", "fish"] as const;
const scriptOf = (shell: string): string => path.join(folder, `gpulse.${shell}`);

beforeAll(async () => {
  await ensureBuild();
  for (const shell of shells) {
    const { code, stdout, stderr } = await runGpulse(["completion", shell]);
    if (code !== 0) throw new Error(`gpulse completion ${shell}: ${stderr}`);
    writeFileSync(scriptOf(shell), stdout);
  }
  writeFileSync(path.join(folder, "some-file.yaml"), "");
}, 300_000);

/** The command line up to the cursor, and the expected completions. */
const cases = [
  ["gpulse al", ["alerts"]],
  ["gpulse silence ", ["add", "expire", "list"]],
  ["gpulse alerts --check hi", ["history"]],
  ["gpulse silence add --fo", ["--for"]],
  ["gpulse user role --dat", ["--data"]],
  ["gpulse --retention-s", ["--retention-size"]],
  ["gpulse token add --scope ", ["admin", "push", "read"]],
  ["gpulse token add --url x --scope pu", ["push"]],
  ["gpulse agent --source si", ["sim:"]],
  ["gpulse hub --to kaf", ["kafka://"]],
  ["gpulse config check some-", ["some-file.yaml"]],
  ["gpulse agent --config some-", ["some-file.yaml"]],
  ["gpulse completion fi", ["fish"]],
] as const;

test.runIf(process.platform !== "win32").for(cases)("bash completes %j", ([line, offered]) => {
  const call = `source ${scriptOf("bash")}; COMP_LINE=$1; COMP_POINT=\${#1}; _gpulse; printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(run("bash", ["--norc", "-c", call, "bash", line]).toSorted()).toEqual(offered);
});

test.runIf(process.platform !== "win32")(
  "bash completes behind a colon, which splits its words",
  () => {
    const call = `source ${scriptOf("bash")}; COMP_LINE=$1; COMP_POINT=\${#1}; _gpulse; printf '%s\\n' "\${COMPREPLY[@]}"`;
    expect(run("bash", ["--norc", "-c", call, "bash", "gpulse hub --to kafka:"])).toEqual(["//"]);
    expect(run("bash", ["--norc", "-c", call, "bash", "gpulse up --log-level=deb"])).toEqual([
      "debug",
    ]);
  },
);

test.for(cases)("fish completes %j", ([line, offered], context) => {
  const fish = toolOrSkip(context, "fish");
  const call = `source ${scriptOf("fish")}; complete -C $argv[1]`;
  const words = run(fish, ["--no-config", "-c", call, line]).map((row) => row.split("\t")[0] ?? "");
  expect(words.toSorted()).toEqual(offered);
});

test("fish shows the help of an option beside it", (context) => {
  const fish = toolOrSkip(context, "fish");
  const call = `source ${scriptOf("fish")}; complete -C "gpulse silence add --fo"`;
  expect(run(fish, ["--no-config", "-c", call])[0]).toMatch(/^--for\t.*default: 1h/);
});

/** zsh completes only on a terminal: zpty provides one, and a widget prints the line after Tab. */
test("zsh completes the same", (context) => {
  const zsh = toolOrSkip(context, "zsh");
  const lines = cases.map(([line]) => line);
  const driver = `
zmodload zsh/zpty
zpty shell ${zsh} -f -i
zpty -w shell "cd ${folder}; PS1=; PS2=; unsetopt zle_bracketed_paste auto_menu; autoload -Uz compinit; compinit -u -D; source ${scriptOf("zsh")}"
zpty -w shell 'zstyle ":completion:*" list-prompt ""; zstyle ":completion:*" menu no; LISTMAX=1000'
zpty -w shell 'report() { zle complete-word; print -r -- "<<<$BUFFER>>>"; zle kill-whole-line; zle reset-prompt }; zle -N report; bindkey "^I" report; print ready-now'
zpty -r shell output '*ready-now*ready-now*'
for line in "$@"; do
  zpty -w -n shell "$line"$'\\t'
  zpty -r shell output '*>>>*'
  print -r -- "$output" | tr -d '\\r' | sed -n 's/.*<<<\\(.*\\)>>>.*/\\1/p'
done
zpty -d shell`;
  const completed = run(zsh, ["-f", "-c", driver, "zsh", ...lines]);
  for (const [index, [line, offered]] of cases.entries()) {
    if (offered.length > 1) continue;
    const typed = line.slice(0, line.lastIndexOf(" ") + 1);
    expect(completed[index]?.replace(/[= ]$/, "")).toBe(`${typed}${offered[0]}`);
  }
}, 120_000);

test.for(shells)(
  "the script for %s has no mistake its shell can find without running it",
  (shell, context) => {
    const program = shell === "bash" ? "bash" : toolOrSkip(context, shell);
    const { status, stderr } = spawnSync(program, ["-n", scriptOf(shell)], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
  },
);

test("another shell is a usage error that names the three", async () => {
  const { code, stderr } = await runGpulse(["completion", "tcsh"]);
  expect(code).toBe(2);
  expect(stderr).toContain("bash, zsh, fish");
});

function run(program: string, args: readonly string[]): string[] {
  const { stdout, stderr, status } = spawnSync(program, args, {
    cwd: folder,
    encoding: "utf8",
    timeout: 60_000,
  });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.split("\n").filter((row) => row !== "");
}
