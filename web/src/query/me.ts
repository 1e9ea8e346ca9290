/** The user of the page and their permissions: actions without permission are hidden. The hub enforces them in any case. */
import { computed, signal } from "@preact/signals";
import { getJson, send } from "./http.ts";

export interface Me {
  readonly by: "nobody" | "token" | "session" | "user" | "share";
  readonly name: string | null;
  readonly scope: "read" | "admin" | null;
  readonly how: "token" | "user" | "file-user" | "oidc" | "share" | null;
  /** End of the session. */
  readonly ends: string | null;
  readonly canLogOut: boolean;
  readonly mayChange: boolean;
  /** Create users, tokens and links. */
  readonly mayManage: boolean;
  /** True if changes require a login. */
  readonly asked: boolean;
  /** True if the hub serves its documentation under /docs; absent from an older hub. */
  readonly docs?: boolean;
}

/** Undefined until the hub has responded, and on a hub without access control. */
export const me = signal<Me | undefined>(undefined);

export const mayChange = computed(() => me.value?.mayChange !== false);
/** The documentation site uses links from the root of its host, so a hub under a path of a proxy does not offer it. */
export const docsHref = computed(() =>
  me.value?.docs === true && new URL(".", location.href).pathname === "/" ? "docs/" : undefined,
);
export const isShared = computed(() => me.value?.by === "share");

export async function loadMe(): Promise<void> {
  try {
    me.value = (await getJson("api/me")) as Me;
  } catch {
    // An older or unreachable hub: a forbidden action then fails when it is tried.
  }
}

export async function logOut(everywhere: boolean): Promise<void> {
  await send(
    "POST",
    "api/logout",
    everywhere ? "everywhere=yes" : "",
    "application/x-www-form-urlencoded",
  );
  location.assign("login");
}
