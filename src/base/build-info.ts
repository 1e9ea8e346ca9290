/** The commit this program was built from, read from build.json, which the build writes beside each bundle. */
import { readFileSync } from "node:fs";

let commit: string | undefined;

/** The abbreviated hash, with `-dirty` when the tree had uncommitted changes; `unknown` when run from source or built without git. */
export function buildCommit(): string {
  commit ??= readCommit();
  return commit;
}

function readCommit(): string {
  try {
    const parsed: unknown = JSON.parse(
      readFileSync(new URL("./build.json", import.meta.url), "utf8"),
    );
    if (typeof parsed === "object" && parsed !== null && "commit" in parsed)
      return typeof parsed.commit === "string" ? parsed.commit : "unknown";
  } catch {
    // No build.json: the program runs from source.
  }
  return "unknown";
}
