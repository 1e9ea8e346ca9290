// Runs a program in tmux and renders its screen as an HTML page, colours included, so that Chromium can take a picture of a
// terminal. The tmux server is private to the capture and ends with it.

import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const ESCAPE = String.fromCodePoint(27);
/** xterm's 16 colours. */
const BASE = [
  "#1e1e1e #cd3131 #0dbc79 #e5e510 #2472c8 #bc3fbc #11a8cd #e5e5e5",
  "#767676 #f14c4c #23d18b #f5f543 #3b8eea #d670d6 #29b8db #ffffff",
].flatMap((line) => line.split(" "));
const CUBE = [0, 95, 135, 175, 215, 255];

/** A colour of xterm's 256. @param {number} index */
function indexed(index) {
  const base = BASE[index];
  if (base !== undefined) return base;
  if (index >= 232) return rgb([0, 1, 2].map(() => 8 + (index - 232) * 10));
  return rgb([36, 6, 1].map((size) => CUBE[Math.floor((index - 16) / size) % 6] ?? 0));
}

/** @param {readonly number[]} parts */
const rgb = (parts) => `rgb(${parts.join()})`;

/** @typedef {{ color?: string, background?: string, bold?: boolean, dim?: boolean, inverse?: boolean }} Style */

/**
 * Applies one SGR sequence (`ESC [ … m`, ECMA-48 8.3.117).
 * @param {Style} before
 * @param {readonly number[]} codes
 * @returns {Style}
 */
function applySgr(before, codes) {
  let style = { ...before };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) style = { ...style, bold: false, dim: false };
    else if (code === 27) style.inverse = false;
    else if (code === 39) delete style.color;
    else if (code === 49) delete style.background;
    else if (code === 38 || code === 48) {
      const key = code === 38 ? "color" : "background";
      const isIndexed = codes[at + 1] === 5;
      style[key] = isIndexed ? indexed(codes[at + 2] ?? 0) : rgb(codes.slice(at + 2, at + 5));
      at += isIndexed ? 2 : 4;
    } else if (code >= 30 && code <= 37) style.color = indexed(code - 30);
    else if (code >= 40 && code <= 47) style.background = indexed(code - 40);
    else if (code >= 90 && code <= 97) style.color = indexed(code - 82);
    else if (code >= 100 && code <= 107) style.background = indexed(code - 92);
  }
  return style;
}

/** @param {string} text @param {Style} style */
function span(text, { color = "#d4d4d4", background = "transparent", bold, dim, inverse }) {
  const [front, back] = inverse === true ? ["#1e1e1e", color] : [color, background];
  const escaped = text
    .replace(/[&<>]/g, (char) => `&#${char.codePointAt(0)};`)
    // Braille is from another font with other widths, so each character gets a cell.
    .replace(/[\u2800-\u28FF]/g, "<i>$&</i>");
  const weight = `${bold === true ? ";font-weight:bold" : ""}${dim === true ? ";opacity:.65" : ""}`;
  return `<span style="color:${front};background:${back}${weight}">${escaped}</span>`;
}

/** The HTML page of a screen that `tmux capture-pane -e` printed. @param {string} screen */
export function terminalPage(screen) {
  /** @type {Style} */
  let style = {};
  const parts = screen.split(new RegExp(`${ESCAPE}\\[([\\d;]*)m`));
  const body = parts.map((part, index) => {
    if (index % 2 === 0) return span(part, style);
    style = applySgr(style, part.split(";").map(Number));
    return "";
  });
  return `<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#1e1e1e}pre{display:inline-block;margin:0;padding:12px 16px;font:14px/17px "DejaVu Sans Mono",monospace}i{display:inline-block;width:1ch;height:17px;overflow:hidden;vertical-align:bottom;font-style:normal}</style><pre>${body.join("")}</pre>`;
}

/**
 * The screen of a program after `waitMs`, as an HTML page.
 * @param {readonly string[]} command
 * @param {{ columns: number, rows: number, waitMs: number }} options
 */
export async function captureTerminal(command, { columns, rows, waitMs }) {
  /** @param {readonly string[]} args */
  const tmux = (...args) =>
    execFileSync("tmux", ["-L", `gpulse-${process.pid}`, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      env: { ...process.env, LANG: "C.UTF-8", COLORTERM: "truecolor" },
    });
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  tmux("new-session", "-d", "-x", `${columns}`, "-y", `${rows}`, quoted);
  try {
    await sleep(waitMs);
    return terminalPage(tmux("capture-pane", "-e", "-p").trimEnd());
  } finally {
    tmux("kill-server");
  }
}
