/** A change that began inside the range, seen from the page: likely with its size, never noise. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { runGpulse } from "../../engines/program.ts";
import { openPage } from "./browser.ts";
import { describeInBrowser } from "./suite.ts";

const STEP_MS = 10_000;
const DAY_MS = 86_400_000;

/** An hour at 636 W a day ago; today 636 W, and 430 W after the first twenty minutes. */
function powerOfTwoDays(endMs: number): string {
  const labels = 'uuid="ONSET",host="past",gpu="0"';
  const lines: Record<"gpu_up" | "gpu_info" | "gpu_power_watts", string[]> = {
    gpu_up: [],
    gpu_info: [],
    gpu_power_watts: [],
  };
  for (const toMs of [endMs - DAY_MS, endMs])
    for (let ms = toMs - 3_600_000; ms <= toMs; ms += STEP_MS) {
      const isLow = toMs === endMs && ms >= toMs - 2_400_000;
      const watts = (isLow ? 430 : 636) + 3 * Math.sin(ms / 7_000);
      lines.gpu_up.push(`gpu_up{${labels}} 1 ${ms / 1_000}`);
      lines.gpu_info.push(`gpu_info{${labels},model="Past card",vendor="nvidia"} 1 ${ms / 1_000}`);
      lines.gpu_power_watts.push(`gpu_power_watts{${labels}} ${watts.toFixed(2)} ${ms / 1_000}`);
    }
  const families = Object.entries(lines).map(
    ([family, rows]) => `# TYPE ${family} gauge\n${rows.join("\n")}\n`,
  );
  return `${families.join("")}# EOF\n`;
}

describeInBrowser("a change inside the range", { source: "sim:1", timeoutMs: 90_000 }, (suite) => {
  test("the headline says that it is likely, with both values, and no table calls it noise", async () => {
    const endMs = Math.floor(Date.now() / 60_000) * 60_000 - 600_000;
    const file = path.join(await mkdtemp(path.join(tmpdir(), "gpulse-onset-")), "past.om");
    await writeFile(file, powerOfTwoDays(endMs));
    const { url } = suite.up;
    const done = await runGpulse(["import", file, "--format", "openmetrics", "--url", url]);
    expect(done).toMatchObject({ code: 0 });
    const iso = (ms: number) => new Date(ms).toISOString();
    const range = `from=${iso(endMs - 3_600_000)}&to=${iso(endMs)}`;
    const { page, complaints } = await openPage(
      suite.browser,
      `${url}compare?gpus=ONSET@past@-24h,ONSET@past&${range}`,
      {},
      ".compare-summary",
    );
    const summary = await page.locator(".compare-summary").innerText();
    expect(summary).toMatch(
      /^Likely\. Power of .*, 49\d(?:\.\d)?\sW against 63\d(?:\.\d)?\sW; −20\d(?:\.\d)?\sW from /,
    );
    expect(await page.locator("main").innerText()).not.toMatch(/noise/i);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
