/** The identity of an alert: 64-bit FNV-1a over its labels, the same number as Alertmanager's. */

/** The FNV prime is 2^40 + 0x1b3: a product in two halves stays exact, and BigInt would cost fifty times as much. */
const low = 0x1b3;
const word = 2 ** 32;

/** Returns sixteen hexadecimal digits. */
export function fingerprintOf(labels: ReadonlyMap<string, string>): string {
  let high32 = 0xcbf2_9ce4;
  let low32 = 0x8422_2325;
  const take = (byte: number): void => {
    const mixed = (low32 ^ byte) >>> 0;
    const product = mixed * low;
    high32 = (high32 * low + Math.floor(product / word) + ((mixed << 8) >>> 0)) % word;
    low32 = product % word;
  };
  for (const name of [...labels.keys()].sort()) {
    for (const byte of Buffer.from(name)) take(byte);
    take(0xff);
    for (const byte of Buffer.from(labels.get(name) ?? "")) take(byte);
    take(0xff);
  }
  return hex(high32) + hex(low32);
}

const hex = (half: number): string => half.toString(16).padStart(8, "0");
