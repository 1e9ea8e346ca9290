// Parses the walks through the code in ARCHITECTURE.md: numbered lists of files, separated by lines that begin with a dash.

export interface WalkStep {
  readonly number: number;
  readonly file: string;
  /** True for the first file and for the first one after a boundary line. */
  readonly isEntry: boolean;
}

export interface Walk {
  readonly title: string;
  /** The number of files that the heading states. */
  readonly stated: number;
  readonly steps: readonly WalkStep[];
}

const HEADING = /^### (.+): (\d+) files$/;
const STEP = /^(\d+)\. `([^`]+)`: \S/;
const BOUNDARY = /^— (?:process boundary|worker thread|HTTP|timer): \S/;

/** Every `### TITLE: N files` section. A list item or dash line of another form is returned as a step without a file. */
export function walksOf(text: string): Walk[] {
  const walks: { title: string; stated: number; steps: WalkStep[] }[] = [];
  let isEntry = true;
  let current: (typeof walks)[number] | undefined;
  for (const line of text.split("\n")) {
    const heading = HEADING.exec(line);
    if (heading !== null) {
      current = { title: heading[1] ?? "", stated: Number(heading[2]), steps: [] };
      walks.push(current);
      isEntry = true;
    } else if (line.startsWith("#")) current = undefined;
    if (current === undefined) continue;
    if (BOUNDARY.test(line)) isEntry = true;
    else if (/^(?:\d+\.|—) ?/.test(line)) {
      const [, number = "0", file = ""] = STEP.exec(line) ?? [];
      current.steps.push({ number: Number(number), file, isEntry });
      isEntry = false;
    }
  }
  return walks;
}

/** The files that neither import an earlier file of the walk nor are imported by one; `importsOf` resolves a file's imports. */
export function unconnectedSteps(
  { steps }: Walk,
  importsOf: (file: string) => ReadonlySet<string>,
): string[] {
  return steps.flatMap(({ file, isEntry }, at) => {
    const isConnected = steps
      .slice(0, at)
      .some((before) => importsOf(file).has(before.file) || importsOf(before.file).has(file));
    return isEntry || isConnected ? [] : [file];
  });
}
