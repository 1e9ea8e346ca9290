/** Dialogs to share the current view by link, and to change the password. The secret of a link is shown once and stored nowhere. */
import { useState } from "preact/hooks";
import { send } from "../query/http.ts";
import { me } from "../query/me.ts";
import { CopyText } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SchemaForm } from "../ui/form.tsx";
import { toast } from "../ui/toast.ts";
import { address, frozenHref } from "../view-state/address.ts";
import { formatInstant } from "../view-state/range.ts";
import { timeWindow } from "../view-state/time.ts";
import { accountDialog } from "./account.tsx";

const DAY_SECONDS = 86_400;

const close = (): void => {
  accountDialog.value = undefined;
};

export function AccountDialogs() {
  const open = accountDialog.value;
  return (
    <>
      <Dialog label="Share this view" open={open === "share"} onClose={close}>
        <ShareView />
      </Dialog>
      <Dialog label="Change my password" open={open === "password"} onClose={close}>
        <Password />
      </Dialog>
    </>
  );
}

const shareSchema = {
  type: "object",
  required: ["name", "days"],
  properties: {
    name: {
      type: "string",
      description: "Who or what the link is for; listed under System, Access.",
    },
    days: {
      type: "integer",
      title: "Expires after (days)",
      minimum: 1,
      maximum: 90,
      default: 7,
    },
    freeze: {
      type: "boolean",
      title: "Keep showing this time",
      description: "Otherwise a range such as the last hour follows the clock.",
      default: false,
    },
  },
} as const;

interface MadeShare {
  readonly name: string;
  readonly expires: string;
  readonly path: string;
}

function ShareView() {
  const [made, setMade] = useState<MadeShare | undefined>(undefined);
  const { page, query } = address.value;
  if (made !== undefined)
    return (
      <>
        <h2>Link: {made.name}</h2>
        <p>
          Copy it now: it is not shown again. Anyone who has it can view this hub, read-only, until{" "}
          {formatInstant(Date.parse(made.expires)).slice(0, 16)}. Revoke it earlier under System,
          Access.
        </p>
        <CopyText label="the link" text={new URL(made.path, location.href).href} />
        <button type="button" class="primary" onClick={close}>
          Done
        </button>
      </>
    );
  return (
    <>
      <h2>Share this view</h2>
      <p class="unit">
        A read-only link to this view. Anyone who opens it can also see the other pages, except
        System.
      </p>
      <SchemaForm
        schema={shareSchema}
        value={{ name: `${page} for a guest`, days: 7, freeze: false }}
        submit="Create link"
        onCancel={close}
        onSubmit={async ({ name, days, freeze }) => {
          const expiresInSeconds = Number(days) * DAY_SECONDS;
          const search = freeze === true ? new URL(frozenHref(timeWindow.peek())).search : query;
          const wanted = { name, page: `/${page}${search}`, expiresInSeconds };
          setMade((await send("POST", "api/shares", wanted)) as MadeShare);
          return undefined;
        }}
      />
    </>
  );
}

const passwordSchema = {
  type: "object",
  required: ["current_password", "new_password", "repeat_password"],
  properties: {
    current_password: { type: "string", title: "Current password" },
    new_password: { type: "string", title: "New password", description: "At least 10 characters." },
    repeat_password: { type: "string", title: "Repeat the password" },
  },
} as const;

function Password() {
  return (
    <>
      <h2>Change the password of {me.value?.name}</h2>
      <p class="unit">All your other sessions are logged out.</p>
      <SchemaForm
        schema={passwordSchema}
        submit="Change password"
        onCancel={close}
        onSubmit={async ({ current_password, new_password, repeat_password }) => {
          if (new_password !== repeat_password) return "The two new passwords differ.";
          await send("POST", "api/me/password", {
            current: current_password,
            password: new_password,
          });
          toast("Your password is changed.");
          close();
          return undefined;
        }}
      />
    </>
  );
}
