/** What a token lets its bearer do. Scopes are few on purpose: a pusher cannot read, a reader cannot change. */
export const scopes = ["push", "read", "admin"] as const;
export type Scope = (typeof scopes)[number];

export const scopeDescriptions: Readonly<Record<Scope, string>> = {
  push: "send samples in, nothing else",
  read: "queries, the page, /metrics, /federate and live frames",
  admin: "everything, also deleting and snapshots",
};

export const isScope = (text: unknown): text is Scope => scopes.some((scope) => scope === text);

export const allows = (granted: Scope, needed: Scope): boolean =>
  granted === "admin" || granted === needed;
