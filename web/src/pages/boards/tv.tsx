/** TV mode: the panels fill the screen, screen by screen and board by board. Space pauses, Escape leaves. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useShortcuts } from "../../app/shortcuts.ts";
import { useTitle } from "../../app/title.ts";
import { boardLimits, type BoardPanel } from "../../../../src/view/board/board.ts";
import { useFetch } from "../../query/use-fetch.ts";
import { getJson } from "../../query/http.ts";
import { useWidth } from "../../ui/use-size.ts";
import { setParams } from "../../view-state/address.ts";
import { pathOf, type SavedBoard } from "./api.ts";
import { screensOf, type TvLine } from "./arrange.ts";
import { Panel } from "./panel.tsx";
import { Variables } from "./variables.tsx";
import { cycleSeconds, playlist } from "./view.ts";

const EVERY_MS = 60_000;
/** A smaller chart would show too little. */
const ROW_PX = 70;
/** Title, padding and gap around a plot. */
const AROUND_PX = 56;
/** On a phone, panels are twice as wide. */
const NARROW_PX = 600;
const widened = (panels: readonly BoardPanel[]): BoardPanel[] =>
  panels.map((panel) => ({ ...panel, columns: Math.min(boardLimits.columns, 2 * panel.columns) }));

export function TvMode({ id }: { id: string }) {
  const ids = playlist.value.length === 0 ? [id] : playlist.value;
  const key = ids.join(",");
  const { value: boards, error } = useFetch(
    `tv ${key}`,
    (signal) =>
      Promise.all(ids.map(async (one) => (await getJson(pathOf(one), signal)) as SavedBoard)),
    EVERY_MS,
  );
  const host = useRef<HTMLDivElement>(null);
  const [widthPx, heightPx] = [useWidth(host), useHeight(host)];
  const [at, setAt] = useState(0);
  const [paused, setPaused] = useState(false);
  const rows = Math.max(4, Math.floor(heightPx / ROW_PX));
  const screens = (boards ?? []).flatMap(({ board }) =>
    screensOf(widthPx < NARROW_PX ? widened(board.panels) : board.panels, rows).map((lines) => ({
      board,
      lines,
    })),
  );
  const count = screens.length;
  const step = (by: number): void => setAt((before) => (before + by + count) % Math.max(1, count));
  const latest = useRef(step);
  latest.current = step;
  useEffect(() => {
    if (paused || count < 2) return undefined;
    const timer = setInterval(() => latest.current(1), cycleSeconds.value * 1_000);
    return () => clearInterval(timer);
  }, [paused, count, cycleSeconds.value]);
  useShortcuts("TV mode", [
    { keys: [" "], shown: ["Space"], says: "pause", run: () => setPaused((before) => !before) },
    { keys: ["ArrowRight"], says: "next screen", run: () => latest.current(1) },
    { keys: ["ArrowLeft"], says: "previous screen", run: () => latest.current(-1) },
    { keys: ["Escape"], says: "leave TV mode", run: leave },
  ]);
  const screen = screens[Math.min(at, count - 1)];
  useTitle(screen?.board.title);
  return (
    <div class="tv">
      <header>
        <h1 class="unseen">gpulse</h1>
        <h2 class="page-title">{screen?.board.title ?? "TV mode"}</h2>
        {screen !== undefined && <Variables board={screen.board} />}
        <span class="spacer" />
        {count > 1 && (
          <>
            <span class="unit">
              {Math.min(at, count - 1) + 1} of {count}
            </span>
            <button type="button" class="quiet" onClick={() => setPaused(!paused)}>
              {paused ? "Resume" : "Pause"}
            </button>
          </>
        )}
        {document.fullscreenEnabled && (
          <button type="button" class="quiet" onClick={() => void toggleFullScreen()}>
            Full screen
          </button>
        )}
        <button type="button" class="quiet" onClick={leave}>
          Leave
        </button>
      </header>
      {error !== undefined && error.status !== 0 && (
        <p class="bad" role="alert">
          {error.message}
        </p>
      )}
      <div class="tv-screen" ref={host}>
        {screen?.lines.map((line) => (
          <Line
            key={`${at} ${line.panels[0]?.id ?? ""}`}
            line={line}
            board={screen.board}
            heightPx={(heightPx * line.rows) / screen.lines.reduce((sum, one) => sum + one.rows, 0)}
          />
        ))}
        {boards !== undefined && count === 0 && <p class="unit">There is no panel to show.</p>}
      </div>
    </div>
  );
}

function Line({
  line,
  board,
  heightPx,
}: {
  line: TvLine;
  board: SavedBoard["board"];
  heightPx: number;
}) {
  return (
    <div class="tv-line" style={{ "--tv-height": `${heightPx}px` }}>
      {line.panels.map((panel) => (
        <div key={panel.id} class="board-panel" style={{ "--columns": panel.columns }}>
          <Panel
            board={board}
            panel={panel}
            heightPx={Math.max(60, Math.floor(heightPx) - AROUND_PX)}
            legend={false}
          />
        </div>
      ))}
    </div>
  );
}

function leave(): void {
  if (document.fullscreenElement !== null) void document.exitFullscreen().catch(() => undefined);
  setParams({ mode: undefined, playlist: undefined, cycle: undefined }, "push");
}

async function toggleFullScreen(): Promise<void> {
  try {
    if (document.fullscreenElement === null) await document.documentElement.requestFullscreen();
    else await document.exitFullscreen();
  } catch {
    // The browser rejects it without a user gesture, or in a frame; the page still fills the window.
  }
}

function useHeight(element: { readonly current: HTMLElement | null }): number {
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const target = element.current;
    if (target === null) return undefined;
    const look = (): void => setHeight(Math.floor(target.clientHeight));
    look();
    const watch = new ResizeObserver(look);
    watch.observe(target);
    return () => watch.disconnect();
  }, [element]);
  return height;
}
