/**
 * Limits which addresses this process may contact: every TCP connection is checked by the address it connects to, so DNS rebinding
 * and redirects cannot bypass the check. Covers sockets that libraries open (docs/decisions/0025).
 */
import net, { type LookupFunction, type TcpSocketConnectOpts } from "node:net";
import {
  type AddressRange,
  classifyAddress,
  contains,
  resolveEmbeddedAddresses,
} from "./address-ranges.ts";

export interface OutboundRule {
  /** True if this machine and private networks may be contacted. */
  readonly privateAllowed: boolean;
  /** Ranges that are always allowed. */
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

/** The error if `address` may not be contacted; undefined if it may, or if it is a host name. */
export function checkAddress(
  rule: OutboundRule,
  address: string,
  port: number | undefined,
): OutboundBlockedError | undefined {
  const [withoutZone = ""] = address.split("%", 1);
  for (const meant of resolveEmbeddedAddresses(withoutZone)) {
    const match = classifyAddress(meant);
    if (match === undefined || (match.class === "private" && rule.privateAllowed)) continue;
    // Allowing 0.0.0.0/0 does not allow a metadata service: that needs a range as narrow as its own.
    const minPrefixBits = match.class === "never" ? match.range.prefixBits : 0;
    const isAllowed = rule.allow.some(
      (range) =>
        range.prefixBits >= minPrefixBits &&
        (range.port === undefined || range.port === port) &&
        (contains(range, meant) || contains(range, withoutZone)),
    );
    if (isAllowed) continue;
    return new OutboundBlockedError(
      `${address} is ${match.name}, which is blocked: allow it with --allow-outbound ${address} or hub.outbound.allow`,
      address,
    );
  }
  return undefined;
}

/** Called for each blocked connection; `name` is the host name, or the address if there was none. */
export type OutboundBlockedHandler = (
  error: OutboundBlockedError,
  name: string,
  port: number | undefined,
) => void;

interface Guard {
  readonly rule: OutboundRule;
  readonly onBlocked: OutboundBlockedHandler;
}

/** A connection has to pass all guards. */
const guards = new Set<Guard>();
let unpatch: (() => void) | undefined;

/** Applies the rule to every TCP connection of this process, not to Unix sockets. Returns the function that removes it. */
export function guardSockets(rule: OutboundRule, onBlocked: OutboundBlockedHandler): () => void {
  const guard: Guard = { rule, onBlocked };
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
    throw new Error("BUG: net.Socket.prototype.connect is not a method");
  const guarded = function (this: net.Socket, ...args: unknown[]): unknown {
    const call = parseConnectArgs(args);
    if (call === undefined) return Reflect.apply(connect, this, args);
    const { options, withOptions } = call;
    const port = Number(options.port);
    const host = options.host ?? "localhost";
    const error = checkGuards(host, host, port);
    if (error !== undefined) {
      // On the next tick, after the caller has attached its error listener.
      process.nextTick(() => this.destroy(error));
      return this;
    }
    const lookup = guardLookup(options.lookup ?? process.getBuiltinModule("node:dns").lookup, port);
    return Reflect.apply(connect, this, withOptions({ ...options, lookup }));
  };
  Object.defineProperty(net.Socket.prototype, "connect", { ...before, value: guarded });
  return () => void Object.defineProperty(net.Socket.prototype, "connect", before);
}

function checkGuards(
  address: string,
  name: string,
  port: number,
): OutboundBlockedError | undefined {
  for (const { rule, onBlocked } of guards) {
    const error = checkAddress(rule, address, port);
    if (error === undefined) continue;
    onBlocked(error, name, port);
    return error;
  }
  return undefined;
}

/** Returns only the addresses that may be contacted, or an error if none remains. */
function guardLookup(lookup: LookupFunction, port: number): LookupFunction {
  return (name, options, callback) => {
    lookup(name, options, (problem, found, family) => {
      if (problem !== null) return callback(problem, found, family);
      const all = typeof found === "string" ? [{ address: found, family: family ?? 4 }] : found;
      const errors = all.map(({ address }) => checkGuards(address, name, port));
      const allowed = all.filter((_entry, at) => errors[at] === undefined);
      const error = errors.find((blocked) => blocked !== undefined);
      if (allowed.length === 0 && error !== undefined) return callback(error, "", 0);
      return callback(null, typeof found === "string" ? found : allowed, family);
    });
  };
}

type ConnectOptions = Partial<TcpSocketConnectOpts>;

/** The options of any overload of `connect`, and the arguments with other options; undefined for a Unix socket. */
function parseConnectArgs(args: unknown[]):
  | {
      readonly options: ConnectOptions;
      readonly withOptions: (options: ConnectOptions) => unknown[];
    }
  | undefined {
  const [first, second, ...rest] = args;
  if (Array.isArray(first)) {
    // From net.connect: a symbol marks this array, so it has to stay the same object.
    const options: unknown = first[0];
    if (!isTcp(options)) return undefined;
    return {
      options,
      withOptions: (next) => {
        first[0] = next;
        return args;
      },
    };
  }
  if (isTcp(first)) return { options: first, withOptions: (next) => [next, second, ...rest] };
  if (typeof first !== "number" && !(typeof first === "string" && /^\d+$/.test(first)))
    return undefined;
  const port = Number(first);
  return typeof second === "string"
    ? { options: { port, host: second }, withOptions: (next) => [next, ...rest] }
    : { options: { port }, withOptions: (next) => [next, second, ...rest] };
}

/** Like Node: a non-empty `path` is a Unix socket. */
const isTcp = (value: unknown): value is ConnectOptions =>
  typeof value === "object" && value !== null && !("path" in value && Boolean(value.path));
