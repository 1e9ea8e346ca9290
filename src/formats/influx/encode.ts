/**
 * The parts of a line of Influx's line protocol, escaped so that every server reads them alike:
 *
 *   measurement[,tag=value…] field=value[,field=value…] time
 *
 * Servers differ in what a backslash before a comma, a space, an equals sign, another backslash or the end means, and none
 * keeps a line break outside quotes. There a backslash becomes a slash and a control character a space: never a broken line.
 */
import type { LabelSet } from "../../model/labels.ts";

const controls = /\p{Cc}+/gu;
const backslashes = /\\(?=[\\,= ]|$)/g;

/** What of a text a name or a tag's value can hold. */
export function plainForLine(text: string): string {
  return text.replace(controls, " ").replace(backslashes, "/");
}

/** `gpu,host=a,uuid=b` and the space behind it. A tag without a value is none. */
export function lineHead(measurement: string, tags: LabelSet): string {
  let head = plainForLine(measurement).replace(/[, ]/g, "\\$&");
  // A line that begins so would be a remark.
  if (head.startsWith("#")) head = `_${head.slice(1)}`;
  for (const [name, value] of tags)
    if (value !== "") head += `,${escapeTag(name)}=${escapeTag(value)}`;
  return `${head} `;
}

/** `name=`, for a value to follow. */
export function fieldHead(name: string): string {
  return `${escapeTag(name)}=`;
}

/** A float; undefined where it is none of the protocol's numbers. */
export function floatText(value: number): string | undefined {
  return Number.isFinite(value) ? String(value) : undefined;
}

export function quotedText(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

function escapeTag(text: string): string {
  return plainForLine(text).replace(/[,= ]/g, "\\$&");
}
