/** The account menu: share this view, change the password, log in or out. Hidden if none of these applies. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { logOut, type Me, me } from "../query/me.ts";
import { attempt } from "../ui/attempt.ts";
import { Menu, type MenuItem } from "../ui/menu.tsx";

export type AccountDialog = "share" | "password";
export const accountDialog = signal<AccountDialog | undefined>(undefined);

export function Account() {
  const who = me.value;
  const items = who === undefined ? [] : itemsFor(who);
  if (items.length === 0) return null;
  return (
    <Menu class="quiet key" label={`Account: ${who?.name ?? "not logged in"}`} items={items}>
      <svg class="glass" viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="5.2" r="2.9" />
        <path d="M2.5 14c.6-3 2.8-4.4 5.5-4.4s4.9 1.4 5.5 4.4" />
      </svg>
    </Menu>
  );
}

function itemsFor({ by, how, asked, canLogOut, mayManage }: Me): readonly MenuItem[] {
  const leave = (everywhere: boolean): void =>
    void attempt(
      () => logOut(everywhere),
      () => undefined,
    );
  const logIn = { label: "Log in", run: () => location.assign("login") };
  if (by === "share") return [{ label: "Leave the shared view", run: () => leave(false) }, logIn];
  return [
    ...(mayManage
      ? [{ label: "Share this view", run: () => (accountDialog.value = "share") }]
      : []),
    ...(how === "user" && canLogOut
      ? [{ label: "Change my password", run: () => (accountDialog.value = "password") }]
      : []),
    ...(by === "nobody" && asked ? [logIn] : []),
    ...(canLogOut
      ? [
          { label: "Log out", run: () => leave(false) },
          { label: "Log out everywhere", run: () => leave(true) },
        ]
      : []),
  ];
}

/** Loads the dialogs' code when one is first opened. */
export function AccountDialogLoader() {
  const [Dialogs, setDialogs] = useState<ComponentType | undefined>(undefined);
  const wanted = accountDialog.value !== undefined;
  useEffect(() => {
    if (!wanted || Dialogs !== undefined) return;
    import("./account-dialogs.tsx").then(
      (loaded) => setDialogs(() => loaded.AccountDialogs),
      () => {
        accountDialog.value = undefined;
      },
    );
  }, [wanted]);
  return Dialogs === undefined ? null : <Dialogs />;
}
