/** The known objects of a cluster and the groups built from them; a group is rebuilt only if an object it was built from has changed. */
import type { DiscoveredGroup } from "../group.ts";
import { keyOf, type KubeObject, type Resource, type ResourceObjects } from "./objects.ts";
import type { RelatedObjects, DiscoveryRole } from "./labels.ts";

interface IndexedObject {
  readonly object: KubeObject;
  /** The list the object came from; only a new version of this list removes it. */
  readonly origin: string;
}

export class TargetGroupIndex {
  readonly #role: DiscoveryRole<Resource>;
  readonly #attachNodes: boolean;
  readonly #objects = new Map<Resource, Map<string, IndexedObject>>();
  readonly #groups = new Map<string, DiscoveredGroup>();
  /** By `kind key` of an object that was read: the keys of the groups built from it. */
  readonly #lookers = new Map<string, Set<string>>();
  readonly #dirty = new Set<string>();
  #hasEmitted = false;

  constructor(role: unknown, attachNodes: boolean) {
    this.#role = role as DiscoveryRole<Resource>;
    this.#attachNodes = attachNodes;
  }

  list(kind: Resource, origin: string, objects: readonly KubeObject[]): void {
    const keys = new Set(objects.map(keyOf));
    for (const [key, known] of this.#of(kind))
      if (known.origin === origin && !keys.has(key)) this.#change(kind, key, undefined);
    for (const object of objects) this.put(kind, origin, object);
  }

  put(kind: Resource, origin: string, object: KubeObject): void {
    const key = keyOf(object);
    const before = this.#of(kind).get(key)?.object.metadata;
    const version = object.metadata?.resourceVersion;
    if (before?.resourceVersion !== undefined && before.resourceVersion === version) return;
    this.#change(kind, key, { object, origin });
  }

  remove(kind: Resource, _origin: string, object: KubeObject): void {
    this.#change(kind, keyOf(object), undefined);
  }

  /** All groups; undefined if they have not changed since the last call. */
  groups(): readonly DiscoveredGroup[] | undefined {
    if (this.#dirty.size === 0 && this.#hasEmitted) return undefined;
    for (const key of this.#dirty) this.#build(key);
    this.#dirty.clear();
    this.#hasEmitted = true;
    return [...this.#groups.values()];
  }

  #change(kind: Resource, key: string, known: IndexedObject | undefined): void {
    if (known === undefined) this.#of(kind).delete(key);
    else this.#of(kind).set(key, known);
    if (kind === this.#role.resource) this.#dirty.add(key);
    // A deleted object does not mark its dependants as dirty: they are usually deleted a moment later, and stay unchanged until then.
    if (known === undefined) return;
    for (const looker of this.#lookers.get(`${kind} ${key}`) ?? []) this.#dirty.add(looker);
  }

  #build(key: string): void {
    const known = this.#of(this.#role.resource).get(key);
    const group =
      known === undefined ? undefined : this.#role.build(known.object, this.#beside(key));
    if (group === undefined) this.#groups.delete(key);
    else this.#groups.set(key, group);
  }

  #beside(looker: string): RelatedObjects {
    return {
      attachNodes: this.#attachNodes,
      get: <Kind extends Resource>(kind: Kind, key: string): ResourceObjects[Kind] | undefined => {
        const at = `${kind} ${key}`;
        const lookers = this.#lookers.get(at) ?? new Set();
        this.#lookers.set(at, lookers.add(looker));
        return this.#of(kind).get(key)?.object;
      },
    };
  }

  #of(kind: Resource): Map<string, IndexedObject> {
    const found = this.#objects.get(kind) ?? new Map<string, IndexedObject>();
    this.#objects.set(kind, found);
    return found;
  }
}
