/**
 * Parses records of /dev/kmsg. Pure; returns undefined for a line that is no record.
 *
 *     6,339,5140900,-;NET: Registered protocol family 10
 *     priority,sequence,microseconds since boot,flag[,more…];text
 *      SUBSYSTEM=net          a line that starts with a space adds machine-readable properties to the record above
 *
 * The priority is facility × 8 + level. Unprintable characters and backslashes in the text are written as `\xNN`. The flag is `c` if the
 * text continues the previous record (https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg).
 */

export interface KmsgRecord {
  /** 0 is the kernel itself: a program that writes to /dev/kmsg cannot use it. */
  readonly facility: number;
  /** 0 emergency to 7 debug. */
  readonly level: number;
  readonly sequence: number;
  /** Time of the kernel's own clock, which stops while the machine sleeps. */
  readonly sinceBootUs: number;
  readonly isFragment: boolean;
  /** The thread or processor that wrote it, if the kernel is built with CONFIG_PRINTK_CALLER. */
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

/** Maximum length of joined fragments, so that endless continuations stay bounded. */
const longestText = 16_384;

/** Joins fragments. Holds the newest record back until it is known that no record continues it. */
export class FragmentJoiner {
  #held: KmsgRecord | undefined;

  /** Adds a record and returns the previous one if it is now complete. */
  push(next: KmsgRecord): KmsgRecord | undefined {
    const held = this.#held;
    if (held !== undefined && continues(held, next)) {
      this.#held = { ...next, ...held, sequence: next.sequence, text: held.text + next.text };
      return undefined;
    }
    this.#held = next;
    return held;
  }

  /** Returns the held record, if no further record has come. */
  flush(): KmsgRecord | undefined {
    const held = this.#held;
    this.#held = undefined;
    return held;
  }
}

/** Fragments are not joined if another record was written in between. */
function continues(held: KmsgRecord, next: KmsgRecord): boolean {
  return (
    next.isFragment &&
    next.sequence === held.sequence + 1 &&
    next.caller === held.caller &&
    next.facility === held.facility &&
    held.text.length + next.text.length <= longestText
  );
}
