/** The identity of an alert: FNV-1a over its labels, the same number that Alertmanager gives it. */

const prime = 0x100_0000_01b3n;
const offset = 0xcbf2_9ce4_8422_2325n;
const mask = (1n << 64n) - 1n;

/** Sixteen hexadecimal digits. */
export function fingerprintOf(labels: ReadonlyMap<string, string>): string {
  let hash = offset;
  const take = (byte: number): void => {
    hash = ((hash ^ BigInt(byte)) * prime) & mask;
  };
  for (const [name, value] of [...labels].sort(([left], [right]) => (left < right ? -1 : 1))) {
    for (const byte of Buffer.from(name)) take(byte);
    take(0xff);
    for (const byte of Buffer.from(value)) take(byte);
    take(0xff);
  }
  return hash.toString(16).padStart(16, "0");
}
