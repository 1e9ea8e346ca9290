/** Parses ranges of IP addresses and classifies addresses by kind of network. Resolves no names. */
import { BlockList, isIP } from "node:net";

/** `10.0.0.0/8`, `[fd00::]/8` or a single address, each with an optional `:PORT`. */
export interface AddressRange {
  readonly ipVersion: number;
  readonly prefixBits: number;
  readonly port: number | undefined;
  readonly members: BlockList;
}

/** Undefined if `text` is not a range. */
export function parseRange(text: string): AddressRange | undefined {
  const [, address = "", bits, portText] =
    /^(\d+(?:\.\d+){3})(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/.exec(text) ??
    /^\[([0-9a-f:.]+)\](?:\/(\d{1,3}))?(?::(\d{1,5}))?$/i.exec(text) ??
    /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text) ??
    [];
  const ipVersion = isIP(address);
  const maxBits = ipVersion === 4 ? 32 : 128;
  const prefixBits = bits === undefined ? maxBits : Number(bits);
  const port = portText === undefined ? undefined : Number(portText);
  if (ipVersion === 0 || prefixBits > maxBits || (port ?? 0) > 65_535) return undefined;
  const members = new BlockList();
  members.addSubnet(address, prefixBits, family(ipVersion));
  return { ipVersion, prefixBits, port, members };
}

const family = (ipVersion: number) => (ipVersion === 4 ? "ipv4" : "ipv6");

/** False for a host name, and across IP versions: BlockList alone would also match IPv4 against mapped IPv6 ranges. */
export function contains({ ipVersion, members }: AddressRange, address: string): boolean {
  return isIP(address) === ipVersion && members.check(address, family(ipVersion));
}

const loopbackRanges = once(() => ["127.0.0.0/8", "::1"].map(mustParseRange));

export const isLoopback = (host: string): boolean =>
  host === "localhost" || loopbackRanges().some((range) => contains(range, host));

/** The address itself, and the IPv4 address that a gateway would derive from it. */
export function resolveEmbeddedAddresses(address: string): readonly string[] {
  const carrier = carriers().find(({ range }) => contains(range, address));
  if (carrier === undefined) return [address];
  // The URL parser writes every IPv6 address as compressed hexadecimal groups.
  const [head = "", tail = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const [front, back] = [head, tail].map((part) => part.split(":").filter((group) => group !== ""));
  if (front === undefined || back === undefined) return [address];
  const zeros = Array<string>(8 - front.length - back.length).fill("0");
  const groups = [...front, ...zeros, ...back].map((group) => Number.parseInt(group, 16));
  // `::` and `::1` are not IPv4 addresses.
  if (groups.slice(0, 7).every((group) => group === 0) && (groups[7] ?? 0) < 256) return [address];
  const pair = groups.slice(carrier.group, carrier.group + 2);
  return [address, pair.flatMap((group) => [group >> 8, group & 0xff]).join(".")];
}

function mustParseRange(text: string): AddressRange {
  const range = parseRange(text);
  if (range === undefined) throw new Error(`BUG: ${text} is not a range`);
  return range;
}

/** IPv6 ranges that carry IPv4 (mapped, compatible, NAT64, 6to4), and the index of the first of the two groups that hold it. */
const carriers = once(() => [
  { range: mustParseRange("::ffff:0:0/96"), group: 6 },
  { range: mustParseRange("::/96"), group: 6 },
  { range: mustParseRange("64:ff9b::/96"), group: 6 },
  { range: mustParseRange("2002::/16"), group: 1 },
]);

interface ClassifiedRange {
  readonly range: AddressRange;
  /** `never`: contacted only if a range at least as narrow is allowed. */
  readonly class: "private" | "never";
  readonly name: string;
}

const rangesOfClass = (
  className: ClassifiedRange["class"],
  name: string,
  ranges: readonly string[],
): ClassifiedRange[] =>
  ranges.map((text) => ({ range: mustParseRange(text), class: className, name }));

/** The first match applies. */
const classifiedRanges = once((): readonly ClassifiedRange[] => [
  ...rangesOfClass("never", "a cloud metadata service", [
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
  ...rangesOfClass("never", "not the address of a host", ["0.0.0.0/8", "240.0.0.0/4", "::/128"]),
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
]);

/** Undefined for a public address. */
export function classifyAddress(address: string): ClassifiedRange | undefined {
  return classifiedRanges().find(({ range }) => contains(range, address));
}

/** Computes the value on the first call: most processes need none of the lists. */
function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}
