/**
 * Which addresses this process may contact, checked for every TCP connection at the moment it is made, on the very address
 * that is connected to: a name that resolves to another address a second later gets nothing out of it, and neither does a
 * redirect. Libraries that open sockets of their own are checked as well (docs/decisions/0025).
 */
import dns from "node:dns";
import type { LookupFunction, TcpSocketConnectOpts } from "node:net";
import net from "node:net";
import {
  type AddressRange,
  bytesOf,
  classifyAddress,
  contains,
  resolveEmbeddedAddresses,
} from "./address-ranges.ts";

export interface OutboundRule {
  /** Whether this machine and private networks may be contacted. */
  readonly privateAllowed: boolean;
  /** What may be contacted in any case. */
  readonly allow: readonly AddressRange[];
}

export class OutboundBlockedError extends Error {
  readonly code = "EOUTBOUND";
  readonly address: string;

  constructor(sentence: string, address: string) {
    super(sentence);
    this.name = "OutboundBlockedError";
    this.address = address;
  }
}

/** Why an address is not contacted; undefined where it may be. What is no address is none of ours to judge. */
export function checkAddress(
  rule: OutboundRule,
  address: string,
  port: number | undefined,
): OutboundBlockedError | undefined {
  const bytes = bytesOf(address);
  if (bytes === undefined) return undefined;
  for (const meant of resolveEmbeddedAddresses(bytes)) {
    const place = classifyAddress(meant);
    if (place === undefined || (place.place === "private" && rule.privateAllowed)) continue;
    // A range as wide as the internet is no word about a metadata service: that has to be named.
    const leastBits = place.place === "never" ? place.range.prefixBits : 0;
    const isAllowed = rule.allow.some(
      (range) =>
        range.prefixBits >= leastBits &&
        (range.port === undefined || range.port === port) &&
        (contains(range, meant) || contains(range, bytes)),
    );
    if (isAllowed) continue;
    return new OutboundBlockedError(
      `${address} is ${place.name} and is not contacted: allow it with --allow-outbound ${address} or hub.outbound.allow`,
      address,
    );
  }
  return undefined;
}

/** Told of each refused connection: the address, and the name that led to it where there was one. */
export type OutboundBlockedHandler = (
  refused: OutboundBlockedError,
  name: string,
  port: number | undefined,
) => void;

interface Guard {
  readonly rule: OutboundRule;
  readonly tell: OutboundBlockedHandler;
}

/** All of them have to agree. */
const guards = new Set<Guard>();
let unpatch: (() => void) | undefined;

/**
 * Puts the rule before every TCP connection of this process; the returned function takes it away again. Sockets of files
 * (`path`) go past it.
 */
export function guardSockets(rule: OutboundRule, tell: OutboundBlockedHandler): () => void {
  const guard: Guard = { rule, tell };
  guards.add(guard);
  unpatch ??= patch();
  return () => {
    guards.delete(guard);
    if (guards.size > 0) return;
    unpatch?.();
    unpatch = undefined;
  };
}

function patch(): () => void {
  const before = Object.getOwnPropertyDescriptor(net.Socket.prototype, "connect");
  const connect: unknown = before?.value;
  if (before === undefined || typeof connect !== "function")
    throw new Error("BUG: sockets cannot be guarded here");
  const guarded = function (this: net.Socket, ...args: unknown[]): unknown {
    const given = optionsIn(args);
    if (given === undefined) return Reflect.apply(connect, this, args);
    const { options, replace } = given;
    const port = Number(options.port);
    const host = options.host ?? "localhost";
    const refused = checkGuards(host, host, port);
    if (refused !== undefined) {
      // On the next turn: whoever connects has yet to listen for errors.
      process.nextTick(() => this.destroy(refused));
      return this;
    }
    const lookup = guardLookup(options.lookup ?? dns.lookup, port);
    return Reflect.apply(connect, this, replace({ ...options, lookup }));
  };
  Object.defineProperty(net.Socket.prototype, "connect", { ...before, value: guarded });
  return () => void Object.defineProperty(net.Socket.prototype, "connect", before);
}

function checkGuards(
  address: string,
  name: string,
  port: number,
): OutboundBlockedError | undefined {
  for (const { rule, tell } of guards) {
    const refused = checkAddress(rule, address, port);
    if (refused === undefined) continue;
    tell(refused, name, port);
    return refused;
  }
  return undefined;
}

/** Hands on only addresses that may be contacted, and an error where none is left. */
function guardLookup(lookup: LookupFunction, port: number): LookupFunction {
  return (name, options, callback) => {
    lookup(name, options, (problem, found, family) => {
      if (problem !== null) return callback(problem, found, family);
      const all = typeof found === "string" ? [{ address: found, family: family ?? 4 }] : found;
      const refusals = all.map(({ address }) => checkGuards(address, name, port));
      const left = all.filter((_one, at) => refusals[at] === undefined);
      const refused = refusals.find((one) => one !== undefined);
      if (left.length === 0 && refused !== undefined) return callback(refused, "", 0);
      return callback(null, typeof found === "string" ? found : left, family);
    });
  };
}

type ConnectOptions = Partial<TcpSocketConnectOpts>;

/** The options among the ways to call `connect`, and the same call with others; undefined for a socket of the file system. */
function optionsIn(
  args: unknown[],
):
  | { readonly options: ConnectOptions; readonly replace: (options: ConnectOptions) => unknown[] }
  | undefined {
  const [first, second, ...rest] = args;
  if (Array.isArray(first)) {
    // As net.connect hands it on: marked by a symbol, so that it must stay the same array.
    const options: unknown = first[0];
    if (!isTcp(options)) return undefined;
    return {
      options,
      replace: (next) => {
        first[0] = next;
        return args;
      },
    };
  }
  if (isTcp(first)) return { options: first, replace: (next) => [next, second, ...rest] };
  if (typeof first !== "number" && !(typeof first === "string" && /^\d+$/.test(first)))
    return undefined;
  const port = Number(first);
  return typeof second === "string"
    ? { options: { port, host: second }, replace: (next) => [next, ...rest] }
    : { options: { port }, replace: (next) => [next, second, ...rest] };
}

/** As Node decides it: a path that says something is a socket of the file system. */
const isTcp = (value: unknown): value is ConnectOptions =>
  typeof value === "object" && value !== null && !("path" in value && Boolean(value.path));
