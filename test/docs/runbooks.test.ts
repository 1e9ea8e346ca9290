/** The web page can render every section of the shipped runbooks. */
import { expect, test } from "vitest";
import { runbookChapters } from "../../src/alerting/pack/runbook.ts";
import { parseMarkdown, resolveRunbookLink } from "../../web/src/pages/runbooks/markdown.ts";

test("no markup of the shipped runbooks is left in the text, and every link leads somewhere", () => {
  const sections = runbookChapters().flatMap((chapter) => chapter.sections);
  const alerts = new Set(sections.map(({ alert }) => alert.toLowerCase()));
  expect(sections.length).toBeGreaterThan(40);
  for (const { alert, text } of sections) {
    const parts = parseMarkdown(text).flatMap((block) => block.parts);
    for (const part of parts) {
      if (part.kind === "text") expect(part.text, alert).not.toMatch(/\*\*|`|\]\(|^\||^#/m);
      if (part.kind !== "link") continue;
      const link = resolveRunbookLink(part.href);
      expect(link, `${alert}: ${part.href}`).toBeDefined();
      if (link?.kind === "section") expect(alerts).toContain(link.alert);
    }
  }
});
