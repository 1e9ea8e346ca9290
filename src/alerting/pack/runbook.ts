/** The runbook's sections per alert. */
import { packRunbook, stackRunbook } from "./files.ts";

export interface RunbookSection {
  readonly alert: string;
  readonly text: string;
}

/** A level-3 heading is an alert; its section ends at the next heading of that level or above. */
export function runbookSections(markdown: string = packRunbook()): readonly RunbookSection[] {
  return markdown.split(/^(?=#{1,3} )/m).flatMap((part) => {
    const alert = /^### (\S+)\s*$/m.exec(part)?.[1];
    return alert === undefined || !part.startsWith("### ") ? [] : [{ alert, text: part.trim() }];
  });
}

export function runbookSection(name: string): RunbookSection | undefined {
  const wanted = name.toLowerCase();
  return runbookSections().find(({ alert }) => alert.toLowerCase() === wanted);
}

export interface RunbookChapter {
  readonly title: string;
  readonly sections: readonly RunbookSection[];
}

/** Both runbooks grouped by their level-2 headings, for the web page. */
export const runbookChapters = (
  files: readonly string[] = [packRunbook(), stackRunbook()],
): readonly RunbookChapter[] =>
  files.flatMap((markdown) =>
    markdown.split(/^(?=## )/m).flatMap((part) => {
      const title = /^## (.+)$/m.exec(part)?.[1];
      const sections = runbookSections(part);
      return title === undefined || sections.length === 0 ? [] : [{ title, sections }];
    }),
  );
