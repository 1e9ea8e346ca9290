/** `gpulse top --once`: prints one screen for a program or a pipe, when all data has arrived. */
import { pause } from "../../base/retry.ts";
import type { CommandIo } from "../command/io.ts";
import { GpulseError } from "../../base/error.ts";
import { Painter } from "../../top/colour/paint.ts";
import { findTheme } from "../../top/colour/theme.ts";
import type { Picture } from "../../top/model/picture.ts";
import { onceCsv, onceJson } from "../../top/once.ts";
import { drawScreen } from "../../top/screen/screen.ts";
import type { Glyphs } from "../../top/text/glyphs.ts";
import { firstView } from "../../top/view/view.ts";
import type { OpenedFeed } from "./open.ts";
import type { TopFlags } from "./run.ts";

/** How long a source may take for its first reading; a hub or an agent has it at once. */
const PATIENCE_MS = 5_000;

export async function runOnce(
  opened: OpenedFeed,
  flags: TopFlags,
  io: CommandIo,
  glyphs: Glyphs,
): Promise<number> {
  const { board, feed } = opened;
  feed.start();
  const untilMs = Date.now() + PATIENCE_MS;
  let picture = board.picture(Date.now());
  while (Date.now() < untilMs && !isWhole(picture)) {
    await pause(50);
    picture = board.picture(Date.now());
    if (picture.link.kind === "lost") break;
  }
  await feed.stop();
  if (picture.link.kind === "lost")
    throw new GpulseError("AGENT_UNREACHABLE", `${picture.from}: ${picture.link.why}.`);
  if (flags.json === true) io.stdout.write(`${JSON.stringify(onceJson(picture), null, 2)}\n`);
  else if (flags.csv === true) io.stdout.write(onceCsv(picture));
  else io.stdout.write(asText(picture, io, glyphs));
  if (picture.gpus.length > 0) return 0;
  io.stderr.write(
    "gpulse: no GPU found. Run gpulse doctor to see why, or pass --source sim:8 for simulated GPUs.\n",
  );
  return 1;
}

/** True if every GPU has its fast and slow readings and, if it reports one, its memory size; process names arrive a moment later. */
function isWhole({ gpus, tasks, areTasksPending, origin }: Picture): boolean {
  return (
    gpus.length > 0 &&
    !areTasksPending &&
    gpus.every(
      ({ row, device }) =>
        row.ageMs.fast !== undefined &&
        row.ageMs.slow !== undefined &&
        device.facts.memoryTotal !== "stale",
    ) &&
    (origin !== "local" ||
      tasks.every(({ pid, ancestors }) => pid === undefined || ancestors !== undefined))
  );
}

function asText(picture: Picture, io: CommandIo, glyphs: Glyphs): string {
  const columns = Math.max(60, io.stdout.columns ?? 100);
  const rows = picture.gpus.length + picture.tasks.length + 6;
  const screen = drawScreen(picture, firstView, { columns, rows }, glyphs);
  const theme = findTheme("mono");
  if (theme === undefined) throw new Error("BUG: there is no theme mono");
  const painter = new Painter(theme, "none", glyphs.ascii);
  return screen.rows
    .slice(0, -1)
    .map((row) => painter.line(row.map(({ text }) => ({ text, role: "text" as const }))).trimEnd())
    .join("\n")
    .trimEnd()
    .concat("\n");
}
