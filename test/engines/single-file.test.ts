// The single-file executable without Node: in a root folder with only the C library and that file.

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { runProcess, startProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { buildStub } from "../nvml-stub/stub.ts";

const { version } = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8")) as {
  version: string;
};
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A root folder with the files of every Linux with glibc, and no more. */
function emptyRoot(program: string): string {
  const root = mkdtempSync(path.join(tmpdir(), "gpulse-single-"));
  folders.push(root);
  mkdirSync(path.join(root, "tmp"));
  copyFileSync(program, path.join(root, "gpulse"));
  const libraries = execFileSync("ldd", [program], { encoding: "utf8" }).matchAll(/(\/\S+) \(0x/g);
  for (const [, library = ""] of libraries) {
    mkdirSync(path.join(root, path.dirname(library)), { recursive: true });
    copyFileSync(library, path.join(root, library));
  }
  return root;
}

const inside = { env: { HOME: "/", NODE_EXTRA_CA_CERTS: "" } };

test(
  "it shows simulated GPUs on its page in an empty root, and leaves nothing there but its program and data",
  { timeout: 300_000 },
  async (context) => {
    if (process.platform !== "linux" || process.arch !== "x64")
      context.skip("it is built for this kind of machine only on Linux x64");
    if (process.getuid?.() !== 0) context.skip("needs root, for chroot");
    const builder = path.join(repository, "scripts", "single-file", "build.mjs");
    const built = await runProcess(process.execPath, [builder, "linux-x64"], {
      timeoutMs: 280_000,
    });
    expect(built.code, built.stderr).toBe(0);
    const program = path.join(repository, "dist", "single", `gpulse-${version}-linux-x64`);
    expect(existsSync(`${program}.sha256`)).toBe(true);

    const root = emptyRoot(program);
    const reported = await runProcess("chroot", [root, "/gpulse", "--version"], inside);
    expect(reported.code).toBe(0);
    expect(reported.stdout).toMatch(
      new RegExp(`^gpulse ${version} \\(commit \\S+, node v24\\.\\d+\\.\\d+\\)\n$`),
    );

    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const args = ["up", "--source", "sim:2", "--port", `${port}`, "--data", "/data", "--no-open"];
    const up = startProcess("chroot", [root, "/gpulse", ...args], inside);
    try {
      await up.waitForUrl(`${url}/-/ready`, 60_000);
      const page = await (await fetch(url)).text();
      const [script = ""] = page.match(/(?<=src="\.)[^"]+\.js/) ?? [];
      expect((await fetch(`${url}${script}`)).status).toBe(200);
      await expect
        .poll(async () => {
          const answer = await fetch(`${url}/api/v1/query?query=count(gpu_power_watts)`);
          const { data } = (await answer.json()) as {
            data: { result: { value: [number, string] }[] };
          };
          return data.result[0]?.value[1];
        })
        .toBe("2");
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics.match(/^gpu_power_watts\{/gm)).toHaveLength(2);
    } finally {
      expect(await up.stop(20_000)).toMatchObject({ code: 0 });
    }
  },
);

test("it calls NVIDIA's library itself, and falls back to no other tool", async (context) => {
  const program = path.join(repository, "dist", "single", `gpulse-${version}-linux-x64`);
  if (!existsSync(program)) context.skip("the first test was skipped");
  if (findTool("gcc") === undefined) context.skip("no C compiler to build the stand-in with");
  const stub = await buildStub();
  const cache = mkdtempSync(path.join(tmpdir(), "gpulse-single-"));
  folders.push(cache);
  stub.script("gpus 3");
  const port = await freePort();
  const args = ["--source", `nvidia:?library=${stub.library}`, "--port", `${port}`];
  const agent = startProcess(program, ["agent", ...args, "--host", "127.0.0.1"], {
    env: { GPULSE_CACHE: cache },
  });
  try {
    await agent.waitForUrl(`http://127.0.0.1:${port}/readyz`, 60_000);
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page.match(/^gpu_power_watts\{/gm)).toHaveLength(3);
  } finally {
    await agent.stop(20_000);
    stub.remove();
  }
});

test("a place that cannot be written is reported, with what to do", async (context) => {
  const program = path.join(repository, "dist", "single", `gpulse-${version}-linux-x64`);
  if (!existsSync(program)) context.skip("the test before was skipped");
  const done = await runProcess(program, ["--version"], {
    env: { GPULSE_CACHE: "/dev/null/none" },
  });
  expect(done).toMatchObject({ code: 1, stdout: "" });
  expect(done.stderr).toContain("GPULSE_CACHE");
});
