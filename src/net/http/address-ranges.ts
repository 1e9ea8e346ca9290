/** Ranges of IP addresses: reading them, and telling what kind of place an address is. Resolves no names. */
import { isIP, isIPv4 } from "node:net";

/** `10.0.0.0/8`, `[fd00::]/8`, an address alone, each with or without `:PORT` behind it. */
export interface AddressRange {
  readonly bytes: readonly number[];
  readonly prefixBits: number;
  readonly port?: number;
}

/** Undefined for what is no range. */
export function parseRange(text: string): AddressRange | undefined {
  const [, address = "", bits, port] =
    /^(\d+(?:\.\d+){3})(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/.exec(text) ??
    /^\[([0-9a-f:.]+)\](?:\/(\d{1,3}))?(?::(\d{1,5}))?$/i.exec(text) ??
    /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text) ??
    [];
  const bytes = bytesOf(address);
  if (bytes === undefined) return undefined;
  const prefixBits = bits === undefined ? bytes.length * 8 : Number(bits);
  const portNumber = port === undefined ? undefined : Number(port);
  if (prefixBits > bytes.length * 8 || (portNumber !== undefined && portNumber > 65_535))
    return undefined;
  return { bytes, prefixBits, ...(portNumber === undefined ? {} : { port: portNumber }) };
}

export function contains({ bytes, prefixBits }: AddressRange, address: readonly number[]): boolean {
  if (bytes.length !== address.length) return false;
  for (let bit = 0; bit < prefixBits; bit += 8) {
    const mask = (0xff << Math.max(0, 8 - (prefixBits - bit))) & 0xff;
    const at = bit / 8;
    if (((bytes[at] ?? 0) & mask) !== ((address[at] ?? 0) & mask)) return false;
  }
  return true;
}

/** Four or sixteen; undefined for what is no address. A zone (`%eth0`) is left out. */
export function bytesOf(text: string): readonly number[] | undefined {
  const [address = ""] = text.split("%", 1);
  if (isIP(address) === 0) return undefined;
  if (isIPv4(address)) return address.split(".").map(Number);
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = (high: string | undefined, low: string | undefined): string =>
    (Number(high) * 256 + Number(low)).toString(16);
  const whole =
    dotted === null
      ? address
      : `${dotted[1] ?? ""}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`;
  const [head = "", tail] = whole.split("::");
  const groups = (part: string | undefined): string[] =>
    part === undefined || part === "" ? [] : part.split(":");
  const [front, back] = [groups(head), groups(tail)];
  const zeros = Array<string>(Math.max(0, 8 - front.length - back.length)).fill("0");
  return [...front, ...zeros, ...back].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** The address itself, and an IPv4 one that a gateway would make of it. */
export function resolveEmbeddedAddresses(bytes: readonly number[]): readonly (readonly number[])[] {
  if (bytes.length === 4) return [bytes];
  const found = carriers.find(({ range }) => contains(range, bytes));
  // `::` and `::1` are themselves, and no IPv4 addresses.
  const isOwn = bytes.slice(0, 15).every((byte) => byte === 0);
  return found === undefined || isOwn ? [bytes] : [bytes, bytes.slice(found.at, found.at + 4)];
}

const range = (text: string): AddressRange => {
  const parsed = parseRange(text);
  if (parsed === undefined) throw new Error(`BUG: ${text} is no range`);
  return parsed;
};

/** IPv6 that carries IPv4: mapped, compatible, NAT64 and 6to4. */
const carriers = [
  { range: range("::ffff:0:0/96"), at: 12 },
  { range: range("::/96"), at: 12 },
  { range: range("64:ff9b::/96"), at: 12 },
  { range: range("2002::/16"), at: 2 },
];

export type AddressClass = "public" | "private" | "never";

interface ClassifiedRange {
  readonly range: AddressRange;
  readonly place: Exclude<AddressClass, "public">;
  readonly name: string;
}

const rangesOfClass = (
  place: ClassifiedRange["place"],
  name: string,
  ranges: readonly string[],
): ClassifiedRange[] => ranges.map((text) => ({ range: range(text), place, name }));

/** The first that fits counts. */
const places: readonly ClassifiedRange[] = [
  ...rangesOfClass("never", "a cloud's metadata service", [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::/32",
    "fd20:ce::254",
  ]),
  ...rangesOfClass("never", "a link-local address", ["169.254.0.0/16", "fe80::/10"]),
  ...rangesOfClass("never", "no address of a machine", ["0.0.0.0/8", "240.0.0.0/4", "::/128"]),
  ...rangesOfClass("never", "a multicast address", ["224.0.0.0/4", "ff00::/8"]),
  ...rangesOfClass("private", "this machine", ["127.0.0.0/8", "::1/128"]),
  ...rangesOfClass("private", "a private address", [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "192.0.0.0/24",
    "198.18.0.0/15",
    "fc00::/7",
    "fec0::/10",
    "64:ff9b:1::/48",
    "2001::/32",
  ]),
];

/** What an address is, and the range that says so. */
export function classifyAddress(address: readonly number[]): ClassifiedRange | undefined {
  return places.find((one) => contains(one.range, address));
}
