// Goes through each page with blocks marked as run: runs them in order and looks for the output that the page shows.

import { expect, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { pages } from "./pages.ts";
import { onlyAsks, quickStart, unseen } from "./quick-start.ts";
import { newReader } from "./reader.ts";

const runnable = pages().filter(({ text }) => quickStart(text).length > 0);
const files = runnable.map(({ file }) => file);

test("the quick start of each audience and the first guides are run", () => {
  const starts = ["benchmark", "data", "platform", "workstation"];
  expect(files).toEqual(
    expect.arrayContaining([
      ...starts.map((name) => `docs/start/${name}.md`),
      "docs/guides/alerts.md",
      "docs/guides/hub.md",
    ]),
  );
});

/** The GPUs the page has to show: it asks the same of the hub, whether they were read here, pushed or scraped. */
async function gpusOf(address: string): Promise<number> {
  const answer = await fetch(`${address}/api/v1/query?query=count(gpu_info)`);
  const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
  return Number(data.result[0]?.value[1] ?? 0);
}

test.for(runnable.map(({ file, text }) => [file, text] as const))(
  "the commands of %s run and print what the page shows",
  { timeout: 300_000 },
  async ([, text]) => {
    await ensureBuild();
    const steps = quickStart(text);
    const reader = await newReader();
    try {
      for (const step of steps) {
        expect({ step: step.commands, missing: await reader.take(step) }).toEqual({
          step: step.commands,
          missing: [],
        });
      }
      const address = reader.hubAddress();
      if (address === undefined) return;
      const page = await fetch(`${address}/`);
      expect(page.headers.get("content-type")).toContain("text/html");
      await expect.poll(() => gpusOf(address), { timeout: 30_000 }).toBeGreaterThan(0);
    } finally {
      await reader.leave();
    }
  },
);

test("a block that is run is followed by what is seen of it, and others are left alone", () => {
  const text = [
    "```sh\nrm -rf lake\n```",
    "```sh run keep\nnpm start\n```",
    "```sh run\ngpulse query up\n```",
    "```text see\nup{…} 1\n```",
  ].join("\n");
  expect(quickStart(text)).toEqual([
    { commands: "npm start\n", isKept: true, see: [] },
    { commands: "gpulse query up\n", isKept: false, see: ["up{…} 1"] },
  ]);
});

test.for([
  ["SERIES VALUE", "SERIES      VALUE\n", []],
  ['up{job="…"} 1', 'up{job="gpu"}   1\n', []],
  ['up{job="…"} 1', 'up{job="gpu"}   0\n', ['up{job="…"} 1']],
  ["a … b", "a\nb\n", ["a … b"]],
] as const)("%s in %j", ([line, output, missing]) => {
  expect(unseen([line], output)).toEqual(missing);
});

test.for([
  ["npx gpulse query up\ncurl -s http://a/ | grep x\n", true],
  ["gpulse top --once\n", true],
  ["gpulse pipe --from sim:2\n", false],
  ["gpulse query up\nls lake\n", false],
] as const)("%j only asks: %s", ([commands, answer]) => {
  expect(onlyAsks(commands)).toBe(answer);
});
