/**
 * Divides a bounded amount (slots, bytes) between clients. A client may hold at most as much as stays free beside it: one client
 * alone gets half, the next a quarter, and a client that holds nothing always finds room. The addresses of one token divide the
 * token's part by the same rule.
 */
import { type ClientKey, isAnonymousClient } from "./client-key.ts";

interface ClientHolding {
  amount: number;
  readonly byAddress: Map<string, number>;
}

export class FairShare {
  readonly capacity: number;
  readonly #holdings = new Map<string, ClientHolding>();
  #used = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get used(): number {
    return this.#used;
  }

  get free(): number {
    return this.capacity - this.#used;
  }

  heldBy({ principal, address }: ClientKey): number {
    return this.#holdings.get(principal)?.byAddress.get(address) ?? 0;
  }

  heldByPrincipal(principal: string): number {
    return this.#holdings.get(principal)?.amount ?? 0;
  }

  /** True if the client may take this amount within its share. */
  allows(client: ClientKey, amount = 1): boolean {
    const { free } = this;
    const ofPrincipal = this.heldByPrincipal(client.principal);
    if (ofPrincipal + amount > free) return false;
    if (isAnonymousClient(client)) return true;
    // The principal may still take (free - ofPrincipal) / 2; one of its addresses may hold at most that.
    return this.heldBy(client) + amount <= Math.max(amount, (free - ofPrincipal) / 2);
  }

  /** Takes the amount without checking the share. */
  take({ principal, address }: ClientKey, amount = 1): void {
    this.#used += amount;
    const holding: ClientHolding = this.#holdings.get(principal) ?? {
      amount: 0,
      byAddress: new Map<string, number>(),
    };
    holding.amount += amount;
    holding.byAddress.set(address, (holding.byAddress.get(address) ?? 0) + amount);
    this.#holdings.set(principal, holding);
  }

  give({ principal, address }: ClientKey, amount = 1): void {
    const holding = this.#holdings.get(principal);
    const held = holding?.byAddress.get(address) ?? 0;
    if (holding === undefined || held < amount)
      throw new Error(`BUG: ${principal} gives back ${amount} and holds ${held}`);
    this.#used -= amount;
    holding.amount -= amount;
    if (held === amount) holding.byAddress.delete(address);
    else holding.byAddress.set(address, held - amount);
    if (holding.amount === 0) this.#holdings.delete(principal);
  }

  /**
   * The client that has to release one unit for `newcomer`: the address that holds most within the principal that holds most.
   * Undefined if no client holds more than the newcomer would.
   */
  greediest(newcomer: ClientKey): ClientKey | undefined {
    const [principal, holding] = largest(this.#holdings, ({ amount }) => amount) ?? [];
    if (principal === undefined || holding === undefined) return undefined;
    const [address, held = 0] = largest(holding.byAddress, (amount) => amount) ?? [];
    if (address === undefined) return undefined;
    const isOwn = principal === newcomer.principal;
    const has = isOwn ? this.heldBy(newcomer) : this.heldByPrincipal(newcomer.principal);
    return (isOwn ? held : holding.amount) > has + 1 ? { principal, address } : undefined;
  }
}

function largest<Value>(
  entries: Iterable<[string, Value]>,
  sizeOf: (value: Value) => number,
): [string, Value] | undefined {
  let found: [string, Value] | undefined;
  for (const entry of entries)
    if (found === undefined || sizeOf(entry[1]) > sizeOf(found[1])) found = entry;
  return found;
}
