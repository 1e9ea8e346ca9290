// Creates a tar.gz whose bytes depend only on names and contents: entries sorted, no owner, no time, two modes.
//
//   ustar header, 512 bytes: name[100] mode[8] uid[8] gid[8] size[12] mtime[12] checksum[8] type[1] link[100]
//   "ustar\0" "00" user[32] group[32] major[8] minor[8] prefix[155]; the content follows, padded to 512 bytes

import { gzipSync } from "node:zlib";

const BLOCK = 512;

/** @typedef {{ name: string, content: Buffer, executable?: boolean }} ArchiveEntry `name` has forward slashes */

/** A name of more than 100 bytes is split at a slash. @param {string} name */
function splitName(name) {
  if (Buffer.byteLength(name) <= 100) return { base: name, prefix: "" };
  const at = name.indexOf("/", name.length - 101);
  if (at < 1 || at > 155) throw new Error(`BUG: ${name} is too long for a tar archive`);
  return { base: name.slice(at + 1), prefix: name.slice(0, at) };
}

/** @param {ArchiveEntry} entry */
function header({ name, content, executable = false }) {
  const { base, prefix } = splitName(name);
  const block = Buffer.alloc(BLOCK);
  const octal = (/** @type {number} */ value, /** @type {number} */ length) =>
    `${value.toString(8).padStart(length - 1, "0")}\0`;
  block.write(base, 0);
  block.write(octal(executable ? 0o755 : 0o644, 8), 100);
  block.write(octal(0, 8) + octal(0, 8), 108);
  block.write(octal(content.length, 12) + octal(0, 12), 124);
  block.write(" ".repeat(8), 148);
  block.write("0", 156);
  block.write("ustar\x0000", 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** @param {readonly ArchiveEntry[]} entries */
export function tarGz(entries) {
  const sorted = [...entries].sort((a, b) => (a.name < b.name ? -1 : 1));
  const blocks = sorted.flatMap((entry) => [
    header(entry),
    entry.content,
    Buffer.alloc((BLOCK - (entry.content.length % BLOCK)) % BLOCK),
  ]);
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 });
}
