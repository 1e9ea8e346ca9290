import { expect, test } from "vitest";

import { terminalPage } from "./terminal-page.mjs";

const ESCAPE = "\u001B";
/** The page's body for one line with SGR codes written as `[31m`. */
const rendered = (line: string): string =>
  terminalPage(line.replaceAll("[", `${ESCAPE}[`)).replace(/^.*<pre>(.*)<\/pre>$/s, "$1");

test.for([
  ["plain", "color:#d4d4d4;background:transparent"],
  ["[31mred", "color:#cd3131"],
  ["[92mbright green", "color:#23d18b"],
  ["[38;5;196mindexed red", "color:rgb(255,0,0)"],
  ["[38;5;244mindexed grey", "color:rgb(128,128,128)"],
  ["[48;2;1;2;3mtrue colour", "background:rgb(1,2,3)"],
  ["[1mbold", "font-weight:bold"],
  ["[7minverse", "color:#1e1e1e;background:#d4d4d4"],
] as const)("%s has the style %s", ([line, style]) => {
  expect(rendered(line)).toContain(style);
});

test("a reset ends every style", () => {
  expect(rendered("[1;31ma[0mb")).toMatch(/color:#d4d4d4;background:transparent">b<\/span>$/);
});

test("markup is escaped and braille gets a cell", () => {
  expect(rendered("<b>&⣿")).toContain("&#60;b&#62;&#38;<i>⣿</i>");
});
