// `npm run advisories`: known vulnerabilities of the shipped packages, as JSON on standard output. Exits with 1 if a serious one
// is known, and with 2 if there was no data to check against.

import { readFileSync } from "node:fs";
import path from "node:path";

import { ensureBuilt, ensureInstalled, root } from "../bootstrap.mjs";
import { runMain, say } from "../progress.mjs";
import { checkAdvisories, seriousFindings } from "./advisories.mjs";

await runMain(async () => {
  await ensureInstalled();
  await ensureBuilt();
  const bill = path.join(root, "dist", "gpulse", "sbom.cdx.json");
  const report = await checkAdvisories(JSON.parse(readFileSync(bill, "utf8")).components);
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  say(`advisories: ${report.says}`);
  if (report.source === "missing") return 2;
  return seriousFindings(report).length > 0 ? 1 : 0;
});
