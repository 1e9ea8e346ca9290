/** Checks that turn implausible readings into absent ones; shared by all sources of cards. */
import { failed, type ReadResult, unsupported } from "../machine/sysfs/read-result.ts";
import type { CardChannel } from "./cards.ts";

type ChannelRead = CardChannel["read"];

/** For readings whose 0 means absent: a limit that is switched off, a temperature sensor that the chip lacks. */
export function unlessZero(read: ChannelRead): ChannelRead {
  return async (timeMs): Promise<ReadResult<number>> => {
    const reading = await read(timeMs);
    return reading.ok && reading.value === 0 ? unsupported : reading;
  };
}

/** For a part of a whole, such as memory in use: a part larger than the whole fails. No check if the whole is unknown. */
export function atMost(read: ChannelRead, readWhole: ChannelRead): ChannelRead {
  return async (timeMs): Promise<ReadResult<number>> => {
    const [part, whole] = await Promise.all([read(timeMs), readWhole(timeMs)]);
    return part.ok && whole.ok && part.value > whole.value ? failed : part;
  };
}
