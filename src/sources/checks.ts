/** Checks that turn a reading no GPU can have into an absence; every source of cards shares them. */
import { failed, type ReadResult, unsupported } from "../machine/sysfs/read-result.ts";
import type { CardChannel } from "./cards.ts";

type ChannelRead = CardChannel["read"];

/** For what is never exactly 0 while it is there: a limit that is switched off, a temperature sensor the chip lacks. */
export function unlessZero(read: ChannelRead): ChannelRead {
  return async (timeMs): Promise<ReadResult<number>> => {
    const reading = await read(timeMs);
    return reading.ok && reading.value === 0 ? unsupported : reading;
  };
}

/** For a part of a whole, such as memory in use: more than the whole is a wrong number. An unknown whole bounds nothing. */
export function atMost(read: ChannelRead, readWhole: ChannelRead): ChannelRead {
  return async (timeMs): Promise<ReadResult<number>> => {
    const [part, whole] = await Promise.all([read(timeMs), readWhole(timeMs)]);
    return part.ok && whole.ok && part.value > whole.value ? failed : part;
  };
}
