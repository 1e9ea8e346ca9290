/**
 * Masks identifiers of machines and persons in a capture: serial numbers, UUIDs, host and user names, addresses. The same
 * secret gets the same placeholder everywhere, so that references stay consistent.
 */

/** Files whose whole content is an identifier. */
const identityFiles =
  /\/(unique_id|serial_number|serial|product_serial|board_serial|product_uuid|address)$/;

const patterns: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["uuid", /\b(?:GPU-|MIG-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi],
  ["mac", /\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/gi],
  [
    "serial",
    /(?<=<serial>|<gpu_pdi>|"(?:asic_serial|serial_number|product_serial)":\s*"|Serial Number\s*:\s*|GPU PDI\s*:\s*)[\w-]+/g,
  ],
  ["process", /(?<=<process_name>)[^<]+/g],
];

export class Mask {
  readonly #standIns = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #words: readonly string[];
  /** Identifiers found in such files: they may also occur inside other text, such as a uuid derived from one. */
  readonly #learned = new Set<string>();

  /** @param words names to mask everywhere: the host's, the user's */
  constructor(words: readonly string[]) {
    // Longest first, since one may be part of another. Very short ones are skipped: they would garble ordinary text.
    this.#words = words
      .filter((word) => word.length > 2)
      .sort((left, right) => right.length - left.length);
  }

  text(text: string): string {
    let masked = text;
    for (const [kind, pattern] of patterns)
      masked = masked.replace(pattern, (found) => this.#standIn(kind, found));
    for (const secret of this.#learned)
      masked = masked.replaceAll(secret, () => this.#standIn("serial", secret));
    for (const word of this.#words)
      masked = masked.replaceAll(word, () => this.#standIn("name", word));
    return masked;
  }

  file(path: string, content: string): string {
    if (!identityFiles.test(path) || content.trim() === "" || content.trim() === "N/A")
      return this.text(content);
    const secret = content.trim();
    if (secret.length > 3) this.#learned.add(secret);
    return content.replace(secret, () => this.#standIn("serial", secret));
  }

  #standIn(kind: string, secret: string): string {
    const key = `${kind}:${secret.toLowerCase()}`;
    const known = this.#standIns.get(key);
    if (known !== undefined) return known;
    const number = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, number);
    const made = standIn(kind, number, secret);
    this.#standIns.set(key, made);
    return made;
  }
}

/** A placeholder in the format of the original, so that parsers accept the capture like the machine's own files. */
function standIn(kind: string, number: number, secret: string): string {
  const digits = String(number).padStart(12, "0");
  if (kind === "uuid")
    return `${/^(GPU-|MIG-)?/i.exec(secret)?.[0] ?? ""}00000000-0000-4000-8000-${digits}`;
  if (kind === "mac") return `02:00:00:00:00:${number.toString(16).padStart(2, "0")}`;
  if (kind === "serial") return digits.slice(-Math.min(12, Math.max(4, secret.length)));
  return `${kind}-${number}`;
}
