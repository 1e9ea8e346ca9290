/** What a token permits. There are few scopes on purpose: a push token cannot read, a read token cannot change anything. */
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
