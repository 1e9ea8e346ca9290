/** The running screen: redraws when a feed or a key changed something. Independent of terminal and source. */
import type { Painter } from "./colour/paint.ts";
import type { Picture } from "./model/picture.ts";
import { drawScreen, type Screen, type ScreenSize } from "./screen/screen.ts";
import type { TerminalEvent } from "./terminal/input.ts";
import type { ScreenWriter } from "./terminal/writer.ts";
import type { Glyphs } from "./text/glyphs.ts";
import { type Effect, react } from "./view/react.ts";
import { firstView, type SignalPrompt, type View } from "./view/view.ts";

export interface AppOptions {
  readonly picture: () => Picture;
  readonly size: () => ScreenSize;
  readonly glyphs: Glyphs;
  readonly writer: ScreenWriter;
  readonly whyNoSignals: string | undefined;
  readonly view?: Partial<View>;
  effect(effect: Effect): void;
}

export class App {
  readonly #options: AppOptions;
  #painter: Painter;
  #view: View;
  #held: Picture | undefined;
  #screen: Screen | undefined;

  constructor(options: AppOptions, painter: Painter) {
    this.#options = options;
    this.#painter = painter;
    this.#view = { ...firstView, ...options.view };
  }

  draw(): void {
    const { size, glyphs, writer } = this.#options;
    const now = this.#options.picture();
    // A paused picture is drawn unchanged, except for the time and the connection state.
    const picture =
      this.#held === undefined ? now : { ...this.#held, nowMs: now.nowMs, link: now.link };
    this.#screen = drawScreen(picture, this.#view, size(), glyphs);
    writer.show(this.#screen.rows.map((row) => this.#painter.line(row)));
  }

  take(event: TerminalEvent): void {
    const screen = this.#screen;
    const { view, effect } = react(this.#view, event, {
      gpus: screen?.arranged.gpus ?? [],
      tasks: screen?.taskOrder ?? [],
      hits: screen?.hits ?? [],
      whyNoSignals: this.#options.whyNoSignals,
    });
    if (view.isPaused !== this.#view.isPaused)
      this.#held = view.isPaused ? this.#options.picture() : undefined;
    this.#view = view;
    if (effect !== undefined) this.#options.effect(effect);
    if (effect?.kind !== "quit" && effect?.kind !== "suspend") this.draw();
  }

  /** Shows a notice or a question that no key caused. */
  notify(notice: string | undefined, question?: SignalPrompt): void {
    this.#view = { ...this.#view, notice, ...(question === undefined ? {} : { question }) };
    this.draw();
  }

  paint(painter: Painter): void {
    this.#painter = painter;
  }
}
