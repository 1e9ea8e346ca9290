/**
 * Records of /dev/kmsg, taken apart. Pure; a line that is no record gives nothing.
 *
 *     6,339,5140900,-;NET: Registered protocol family 10
 *     priority,sequence,microseconds since boot,flag[,more…];text
 *      SUBSYSTEM=net          a line that starts with a space adds what programs may know of the record above
 *
 * The priority is facility × 8 + level. What is not printable in the text, and the backslash, stand as `\xNN`. The flag is
 * `c` where the text goes on with the record before (https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg).
 */

export interface KmsgRecord {
  /** 0 is the kernel itself: a program that writes to /dev/kmsg never gets that one. */
  readonly facility: number;
  /** 0 emergency to 7 debug. */
  readonly level: number;
  readonly sequence: number;
  /** By the kernel's own clock, which stands still while the machine sleeps. */
  readonly sinceBootUs: number;
  readonly isFragment: boolean;
  /** The thread or processor it comes from, if the kernel is built with CONFIG_PRINTK_CALLER. */
  readonly caller?: string;
  readonly text: string;
}

const record = /^(\d{1,10}),(\d{1,15}),(\d{1,15}),([^,;]*)((?:,[^,;]*)*);(.*)$/s;

/** @param line one line without its line break, each byte as one character */
export function parseRecord(line: string): KmsgRecord | undefined {
  const match = record.exec(line);
  if (match === null) return undefined;
  const [, priority = "", sequence = "", sinceBootUs = "", flag = "", more = "", text = ""] = match;
  const caller = /,caller=([^,]+)/.exec(more)?.[1];
  return {
    facility: Number(priority) >>> 3,
    level: Number(priority) & 7,
    sequence: Number(sequence),
    sinceBootUs: Number(sinceBootUs),
    isFragment: flag.includes("c"),
    ...(caller === undefined ? {} : { caller }),
    text: unescape(text),
  };
}

function unescape(text: string): string {
  const bytes = text.replace(/\\x([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** What fragments may grow to, so that a log that only continues stays bounded. */
const longestText = 16_384;

/** Puts fragments back together. Holds the newest record until it is known that nothing continues it. */
export class FragmentJoiner {
  #held: KmsgRecord | undefined;

  /** The record that is whole now that this one has come. */
  push(next: KmsgRecord): KmsgRecord | undefined {
    const held = this.#held;
    if (held !== undefined && continues(held, next)) {
      this.#held = { ...next, ...held, sequence: next.sequence, text: held.text + next.text };
      return undefined;
    }
    this.#held = next;
    return held;
  }

  /** What is held, where nothing more has come. */
  flush(): KmsgRecord | undefined {
    const held = this.#held;
    this.#held = undefined;
    return held;
  }
}

/** Others may write between two fragments: those are left as they came. */
function continues(held: KmsgRecord, next: KmsgRecord): boolean {
  return (
    next.isFragment &&
    next.sequence === held.sequence + 1 &&
    next.caller === held.caller &&
    next.facility === held.facility &&
    held.text.length + next.text.length <= longestText
  );
}
