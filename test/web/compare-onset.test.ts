/** The headline of Compare over hours of two days: clear, likely with the onset inside the range, or that it cannot tell. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { runGpulse } from "../../engines/program.ts";
import { openPage } from "./browser.ts";
import { describeInBrowser } from "./suite.ts";

const STEP_MS = 10_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const ONSET_MS = 1_200_000;

/** Watts at a time of the hour, of an hour a day ago and of one today. */
type PowerOfHours = (ms: number, isToday: boolean) => number;

const gpus: Readonly<Record<string, PowerOfHours>> = {
  // 430 W after the first twenty minutes of today.
  ONSET: (ms, isToday) => (isToday && ms >= ONSET_MS ? 430 : 636) + 3 * Math.sin(ms / 7_000),
  // 430 W all of today.
  CLEAR: (ms, isToday) => (isToday ? 430 : 636) + 3 * Math.sin(ms / 7_000),
  // Slow swings that are wider than the difference: few independent readings in an hour.
  UNSURE: (ms, isToday) => 500 + 80 * Math.sin(ms / 420_000 + (isToday ? 2 : 0)),
};

function powerOfTwoDays(endMs: number): string {
  const lines: Record<"gpu_up" | "gpu_info" | "gpu_power_watts", string[]> = {
    gpu_up: [],
    gpu_info: [],
    gpu_power_watts: [],
  };
  Object.entries(gpus).forEach(([uuid, power], gpu) => {
    const labels = `uuid="${uuid}",host="past",gpu="${gpu}"`;
    for (const toMs of [endMs - DAY_MS, endMs])
      for (let ms = 0; ms <= HOUR_MS; ms += STEP_MS) {
        const seconds = (toMs - HOUR_MS + ms) / 1_000;
        const watts = power(ms, toMs === endMs).toFixed(2);
        lines.gpu_up.push(`gpu_up{${labels}} 1 ${seconds}`);
        lines.gpu_info.push(`gpu_info{${labels},model="Past card",vendor="nvidia"} 1 ${seconds}`);
        lines.gpu_power_watts.push(`gpu_power_watts{${labels}} ${watts} ${seconds}`);
      }
  });
  const families = Object.entries(lines).map(
    ([family, rows]) => `# TYPE ${family} gauge\n${rows.join("\n")}\n`,
  );
  return `${families.join("")}# EOF\n`;
}

describeInBrowser("a change between two days", { source: "sim:1", timeoutMs: 90_000 }, (suite) => {
  let endMs = 0;
  beforeAll(async () => {
    endMs = Math.floor(Date.now() / 60_000) * 60_000 - 600_000;
    const file = path.join(await mkdtemp(path.join(tmpdir(), "gpulse-onset-")), "past.om");
    await writeFile(file, powerOfTwoDays(endMs));
    const { url } = suite.up;
    const done = await runGpulse(["import", file, "--format", "openmetrics", "--url", url]);
    if (done.code !== 0) throw new Error(`the import failed: ${done.stderr}`);
  }, 60_000);

  test.each([
    [
      "a difference all the time is clear, with both values and its size",
      "CLEAR",
      /^Clear\. Power of .*, 430(?:\.\d)?\sW against 636(?:\.\d)?\sW, −20\d(?:\.\d+)?\sW \(−32\s%\)\.$/,
    ],
    [
      "a change inside the range is likely, with both values, its size and its onset",
      "ONSET",
      /^Likely\. Power of .*, 49\d(?:\.\d)?\sW against 63\d(?:\.\d)?\sW; −20\d(?:\.\d)?\sW from (.+) UTC to /,
    ],
    [
      "slow swings wider than the difference cannot tell, with both values and the difference",
      "UNSURE",
      /^Cannot tell\. Power of .*, \d{3}(?:\.\d)?\sW against \d{3}(?:\.\d)?\sW, [+−][\d.]+\sW .*: /,
    ],
  ] as const)("%s", async (_, uuid, text) => {
    const iso = (ms: number) => new Date(ms).toISOString();
    const range = `from=${iso(endMs - HOUR_MS)}&to=${iso(endMs)}`;
    const { page, complaints } = await openPage(
      suite.browser,
      `${suite.up.url}compare?gpus=${uuid}@past@-24h,${uuid}@past&${range}`,
      {},
      ".compare-summary",
    );
    const summary = await page.locator(".compare-summary").innerText();
    expect(summary).toMatch(text);
    const [, onset] = text.exec(summary) ?? [];
    if (onset !== undefined) {
      const onsetMs = Date.parse(`${onset.replace(" ", "T")}Z`);
      expect(Math.abs(onsetMs - (endMs - HOUR_MS + ONSET_MS))).toBeLessThanOrEqual(180_000);
    }
    expect(await page.locator("main").innerText()).not.toMatch(/noise/i);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
