// A terminal of its own for a test: tmux on a socket nobody else uses, with the size that is wanted.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { waitUntil } from "../../engines/wait.ts";

export interface TerminalState {
  readonly alternate: boolean;
  readonly cursor: boolean;
  readonly mouse: boolean;
}

export class TmuxTerminal {
  readonly #tmux: string;
  readonly #folder: string;
  readonly #socket: string;

  /** The command is a line for sh; the session stays until it is closed. */
  constructor(
    tmux: string,
    columns: number,
    rows: number,
    command: string,
    env: Readonly<Record<string, string>> = {},
  ) {
    this.#tmux = tmux;
    this.#folder = mkdtempSync(path.join(tmpdir(), "gpulse-tmux-"));
    this.#socket = path.join(this.#folder, "socket");
    const variables = Object.entries({ LANG: "C.UTF-8", ...env }).flatMap(([name, value]) => [
      "-e",
      `${name}=${value}`,
    ]);
    const size = ["-x", String(columns), "-y", String(rows)];
    this.#run("-f", "/dev/null", "new-session", "-d", ...size, ...variables, "sh", "-c", command);
  }

  #run(...args: string[]): string {
    return execFileSync(this.#tmux, ["-S", this.#socket, ...args], { encoding: "utf8" });
  }

  /** The screen as it is seen; with `-e` also its colours. */
  screen(withColours = false): string[] {
    const text = this.#run("capture-pane", "-p", ...(withColours ? ["-e"] : []));
    return text.replace(/\n$/, "").split("\n");
  }

  /** Keys by tmux's names: `Enter`, `Down`, `q`. */
  keys(...keys: string[]): void {
    this.#run("send-keys", ...keys);
  }

  /** Bytes as a terminal would send them, such as a mouse report. */
  bytes(text: string): void {
    this.#run("send-keys", "-l", text);
  }

  resize(columns: number, rows: number): void {
    this.#run("resize-window", "-x", String(columns), "-y", String(rows));
  }

  state(): TerminalState {
    const format = "#{alternate_on} #{cursor_flag} #{mouse_any_flag}";
    const [alternate, cursor, mouse] = this.#run("display-message", "-p", format).trim().split(" ");
    return { alternate: alternate === "1", cursor: cursor === "1", mouse: mouse === "1" };
  }

  /** The shell's. */
  panePid(): number {
    return Number(this.#run("display-message", "-p", "#{pane_pid}"));
  }

  /** Waits until the screen holds it, and gives that screen; the last one is in the failure. */
  async until(wanted: string | RegExp, timeoutMs = 30_000): Promise<string[]> {
    let seen: string[] = [];
    await waitUntil({ what: `the screen to show ${String(wanted)}`, timeoutMs }, async () => {
      seen = this.screen();
      const text = seen.join("\n");
      if (typeof wanted === "string" ? text.includes(wanted) : wanted.test(text)) return true;
      throw new Error(`it shows\n${text}`);
    });
    return seen;
  }

  close(): void {
    try {
      this.#run("kill-server");
    } catch {
      // It ended by itself with its last session.
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
