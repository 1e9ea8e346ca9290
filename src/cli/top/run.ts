/** Runs `gpulse top`: the interactive screen, or a single one. The terminal is restored however it ends. */
import { within } from "../../base/retry.ts";
import type { ClientFlags } from "../command/client.ts";
import { compileLate } from "../../base/compilers.ts";
import type { CommandIo } from "../command/io.ts";
import type { FlagValues } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { growYoungGeneration } from "../../base/heap.ts";
import { App } from "../../top/app.ts";
import { Painter, colourDepth } from "../../top/colour/paint.ts";
import { findTheme, type Theme, themes } from "../../top/colour/theme.ts";
import { parseInput } from "../../top/terminal/input.ts";
import { Terminal } from "../../top/terminal/terminal.ts";
import { ScreenWriter } from "../../top/terminal/writer.ts";
import { ascii, type Glyphs, speaksUnicode, unicode } from "../../top/text/glyphs.ts";
import type { Effect } from "../../top/view/react.ts";
import type { SignalPrompt } from "../../top/view/view.ts";
import { type OpenedFeed, openFeed } from "./open.ts";
import { isAlive, formatSignalResult, sendSignal } from "./signal.ts";

export interface TopFlags extends FlagValues, ClientFlags {
  readonly url?: string;
  readonly once?: boolean;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly ascii?: boolean;
  readonly theme?: string;
  readonly filter?: string;
}

/** An Escape byte is a key press if nothing follows within this time. */
const ESCAPE_MS = 40;
/** How long a process may take to end before SIGKILL is offered. */
const GRACE_MS = 3_000;
const STOP_MS = 2_000;

export async function runTop(flags: TopFlags, io: CommandIo): Promise<number> {
  compileLate();
  // Rendering a fleet creates many short-lived objects: with a small young generation, collections took a fifth more processor
  // time.
  if (flags.url !== undefined) growYoungGeneration();
  const theme = findTheme(flags.theme ?? "okabe");
  if (theme === undefined)
    throw new GpulseError(
      "USAGE",
      `There is no theme "${flags.theme ?? ""}". There are ${themes.map(({ name }) => name).join(", ")}.`,
    );
  if (flags.once !== true && (flags.json === true || flags.csv === true))
    throw new GpulseError("USAGE", "--json and --csv print one frame. Add --once.");
  if (flags.json === true && flags.csv === true)
    throw new GpulseError("USAGE", "--json and --csv exclude each other. Pass one of them.");
  if (flags.once !== true && io.stdout.isTTY !== true)
    throw new GpulseError(
      "USAGE",
      "gpulse top draws on a terminal, and its output goes elsewhere: add --once, with --json or --csv for a program.",
    );
  const isAscii = flags.ascii === true || !speaksUnicode(io.env, process.platform);
  const glyphs = isAscii ? ascii : unicode;
  if (flags.once === true) {
    const { runOnce } = await import("./once.ts");
    return runOnce(await openFeed(flags, io, () => {}), flags, io, glyphs);
  }
  const session = new TopSession(flags, io, glyphs, theme);
  return session.run();
}

class TopSession {
  readonly #flags: TopFlags;
  readonly #io: CommandIo;
  readonly #glyphs: Glyphs;
  #theme: Theme;
  #end: (why: "quit" | { readonly thrown: unknown }) => void = () => {};
  #typed = "";
  #escape: NodeJS.Timeout | undefined;
  #app: App | undefined;
  #procfs: string | undefined;

  constructor(flags: TopFlags, io: CommandIo, glyphs: Glyphs, theme: Theme) {
    this.#flags = flags;
    this.#io = io;
    this.#glyphs = glyphs;
    this.#theme = theme;
  }

  async run(): Promise<number> {
    const { stdout } = process;
    let drawnMs = 0;
    const draw = (): void => {
      drawnMs = Date.now();
      this.#app?.draw();
    };
    const opened = await openFeed(this.#flags, this.#io, draw);
    this.#procfs = opened.procfs;
    const terminal = new Terminal(stdout.fd, process.stdin, (text) => this.#hear(text));
    const writer = new ScreenWriter(stdout);
    const app = new App(
      {
        picture: () => opened.board.picture(Date.now()),
        size: () => ({ columns: Math.max(1, stdout.columns), rows: Math.max(1, stdout.rows) }),
        glyphs: this.#glyphs,
        writer,
        whyNoSignals: whyNoSignals(opened),
        view: { filter: this.#flags.filter ?? "" },
        effect: (effect) => this.#effect(effect, terminal, writer),
      },
      this.#painter(),
    );
    this.#app = app;
    const ended = new Promise<"quit" | { readonly thrown: unknown }>((resolve) => {
      this.#end = resolve;
    });
    const crash = (thrown: unknown): void => {
      terminal.leave();
      this.#end({ thrown });
    };
    process.on("uncaughtException", crash);
    process.on("unhandledRejection", crash);
    // process.exit bypasses the cleanup below.
    process.on("exit", () => terminal.leave());
    const redraw = (): void => {
      writer.forget();
      app.draw();
    };
    stdout.on("resize", redraw);
    process.on("SIGCONT", () => {
      terminal.enter();
      redraw();
    });
    // Redraws while no data arrives, so that ages on the screen keep increasing.
    const tick = setInterval(() => {
      if (Date.now() - drawnMs >= 1_500) draw();
    }, 500);
    let outcome: "quit" | { readonly thrown: unknown };
    try {
      terminal.enter();
      opened.feed.start();
      app.draw();
      outcome = await Promise.race([ended, this.#io.stopped().then(() => "quit" as const)]);
    } finally {
      clearInterval(tick);
      clearTimeout(this.#escape);
      this.#app = undefined;
      terminal.leave();
    }
    await stopWithin(opened, STOP_MS);
    if (outcome === "quit") return 0;
    throw outcome.thrown;
  }

  #painter(): Painter {
    return new Painter(this.#theme, colourDepth(this.#io.env), this.#glyphs.ascii);
  }

  #hear(text: string): void {
    clearTimeout(this.#escape);
    this.#take(this.#typed + text, false);
    if (this.#typed !== "")
      this.#escape = setTimeout(() => this.#take(this.#typed, true), ESCAPE_MS);
  }

  #take(text: string, isFlush: boolean): void {
    const { events, rest } = parseInput(text, isFlush);
    this.#typed = rest;
    for (const event of events) this.#app?.take(event);
  }

  #effect(effect: Effect, terminal: Terminal, writer: ScreenWriter): void {
    switch (effect.kind) {
      case "quit":
        this.#end("quit");
        return;
      case "suspend":
        terminal.leave();
        process.kill(process.pid, "SIGTSTP");
        return;
      case "redraw":
        writer.forget();
        return;
      case "next-theme": {
        const at = themes.indexOf(this.#theme);
        this.#theme = themes[(at + 1) % themes.length] ?? this.#theme;
        this.#app?.paint(this.#painter());
        return;
      }
      case "signal":
        this.#signal(effect.question);
        return;
    }
  }

  #signal(question: SignalPrompt): void {
    const procfs = this.#procfs;
    if (procfs === undefined) return;
    const sent = sendSignal(question, procfs);
    setImmediate(() => this.#app?.notify(formatSignalResult(question, sent)));
    if (sent !== "sent") return;
    setTimeout(() => {
      const { target, signal } = question;
      if (!isAlive(target, procfs))
        this.#app?.notify(`${target.name} (pid ${target.pid}) has ended.`);
      else if (signal === "SIGTERM") this.#app?.notify(undefined, { signal: "SIGKILL", target });
      else
        this.#app?.notify(
          `${target.name} (pid ${target.pid}) has not ended yet: it is blocked in the kernel.`,
        );
    }, GRACE_MS).unref();
  }
}

/** Only processes of this machine, by the pids shown, can be ended. */
function whyNoSignals({ procfs }: OpenedFeed): string | undefined {
  if (procfs === undefined) return "Only processes of this machine can be ended.";
  return procfs === "/proc"
    ? undefined
    : "Processes cannot be ended with another --procfs: its pids may not be of this machine.";
}

/** A source that hangs must not block the exit. */
async function stopWithin({ feed }: OpenedFeed, limitMs: number): Promise<void> {
  await within(feed.stop(), limitMs);
}
