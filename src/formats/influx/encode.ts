/**
 * The parts of a line of Influx's line protocol, escaped so that every server parses them the same way:
 *
 *   measurement[,tag=value…] field=value[,field=value…] time
 *
 * Servers differ in the meaning of a backslash before a comma, a space, an equals sign, another backslash or the end, and none
 * accepts a line break outside quotes. Such a backslash becomes a slash and a control character a space, so that no line is ever
 * broken.
 */
import type { LabelSet } from "../../model/labels.ts";

const controls = /\p{Cc}+/gu;
const backslashes = /\\(?=[\\,= ]|$)/g;

/** The text without characters that a name or a tag value cannot contain. */
export function plainForLine(text: string): string {
  return text.replace(controls, " ").replace(backslashes, "/");
}

/** `gpu,host=a,uuid=b` and the space after it. Tags without a value are left out. */
export function lineHead(measurement: string, tags: LabelSet): string {
  let head = plainForLine(measurement).replace(/[, ]/g, "\\$&");
  // A line that begins with `#` would be a comment.
  if (head.startsWith("#")) head = `_${head.slice(1)}`;
  for (const [name, value] of tags)
    if (value !== "") head += `,${escapeTag(name)}=${escapeTag(value)}`;
  return `${head} `;
}

/** `name=`, to be followed by a value. */
export function fieldHead(name: string): string {
  return `${escapeTag(name)}=`;
}

/** A float; undefined if the protocol cannot represent it. */
export function floatText(value: number): string | undefined {
  return Number.isFinite(value) ? String(value) : undefined;
}

export function quotedText(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

function escapeTag(text: string): string {
  return plainForLine(text).replace(/[,= ]/g, "\\$&");
}
