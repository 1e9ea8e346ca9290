/**
 * The order in which waiting work is served: start-time fair queueing over a tree of work class, principal and address. Of the
 * branches with waiting work, the one with the least service for its weight goes next; a branch that was idle starts level with the
 * others, so that idling earns no credit.
 */
import type { ClientKey } from "./client-key.ts";

interface Branch<Item> {
  readonly weight: number;
  readonly branches: Map<string, Branch<Item>>;
  readonly items: Item[];
  waiting: number;
  /** Served cost divided by weight, in the parent's virtual time. */
  tag: number;
  /** Virtual time of this branch: the tag of its child branch that was served last. */
  now: number;
}

export interface DequeuedItem<Item> {
  readonly item: Item;
  /** Charges the cost of serving the item. */
  charge(cost: number): void;
}

/** Above this number, idle branches are dropped once the parent's virtual time has reached their tag. */
const maxIdleBranches = 1_000;

export class FairOrder<Class extends string, Item> {
  readonly #weights: Readonly<Record<Class, number>>;
  readonly #root: Branch<Item> = branch(1);

  constructor(weights: Readonly<Record<Class, number>>) {
    this.#weights = weights;
  }

  get waiting(): number {
    return this.#root.waiting;
  }

  waitingOf(workClass: Class, { principal, address }: ClientKey): number {
    const ofPrincipal = this.#root.branches.get(workClass)?.branches.get(principal);
    return ofPrincipal?.branches.get(address)?.waiting ?? 0;
  }

  add(workClass: Class, { principal, address }: ClientKey, item: Item): void {
    let at = this.#root;
    const path = [at];
    for (const name of [workClass, principal, address]) {
      let below = at.branches.get(name);
      if (below === undefined) {
        if (at.branches.size >= maxIdleBranches) dropIdle(at);
        below = branch(at === this.#root ? this.#weights[workClass] : 1);
        at.branches.set(name, below);
      }
      if (below.waiting === 0) below.tag = Math.max(below.tag, at.now);
      path.push((at = below));
    }
    at.items.push(item);
    for (const one of path) one.waiting++;
  }

  /** Removes an item whose client has stopped waiting; false if it is not queued. */
  remove(workClass: Class, { principal, address }: ClientKey, item: Item): boolean {
    const ofClass = this.#root.branches.get(workClass);
    const ofPrincipal = ofClass?.branches.get(principal);
    const ofAddress = ofPrincipal?.branches.get(address);
    const index = ofAddress?.items.indexOf(item) ?? -1;
    if (index === -1) return false;
    ofAddress?.items.splice(index, 1);
    for (const one of [this.#root, ofClass, ofPrincipal, ofAddress]) if (one) one.waiting--;
    return true;
  }

  /** Removes and returns the next item. `allows` skips clients that may not be served now. */
  next(allows: (client: ClientKey) => boolean = () => true): DequeuedItem<Item> | undefined {
    for (const ofClass of inOrder(this.#root))
      for (const [principal, ofPrincipal] of namedInOrder(ofClass))
        for (const [address, ofAddress] of namedInOrder(ofPrincipal)) {
          if (!allows({ principal, address })) continue;
          const item = ofAddress.items.shift();
          if (item === undefined) continue;
          const path = [this.#root, ofClass, ofPrincipal, ofAddress];
          path.forEach((one, depth) => {
            one.waiting--;
            const above = path[depth - 1];
            if (above !== undefined) above.now = Math.max(above.now, one.tag);
          });
          return {
            item,
            charge: (cost) => {
              for (const one of path.slice(1)) one.tag += cost / one.weight;
            },
          };
        }
    return undefined;
  }
}

const branch = <Item>(weight: number): Branch<Item> => ({
  weight,
  branches: new Map(),
  items: [],
  waiting: 0,
  tag: 0,
  now: 0,
});

function namedInOrder<Item>({ branches }: Branch<Item>): [string, Branch<Item>][] {
  const waiting: [string, Branch<Item>][] = [];
  for (const entry of branches) if (entry[1].waiting > 0) waiting.push(entry);
  return waiting.length < 2 ? waiting : waiting.sort(([, left], [, right]) => left.tag - right.tag);
}

const inOrder = <Item>(above: Branch<Item>): Branch<Item>[] =>
  namedInOrder(above).map(([, one]) => one);

function dropIdle<Item>(above: Branch<Item>): void {
  for (const [name, one] of above.branches)
    if (one.waiting === 0 && one.tag <= above.now) above.branches.delete(name);
}
