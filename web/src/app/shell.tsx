/** The frame around every page: header and navigation, notices, the page, and dialogs. */
import { liveness } from "../live/feed.ts";
import { mayChange } from "../query/me.ts";
import { Tip } from "../ui/tip.tsx";
import { Toasts } from "../ui/toasts.tsx";
import { AccountDialogLoader } from "./account.tsx";
import { ChangesDialogLoader } from "./changes.tsx";
import { Header } from "./header.tsx";
import { Help } from "./help.tsx";
import { Notices } from "./notices.tsx";
import { PageView } from "./page-view.tsx";
import { PaletteLoader } from "./palette-loader.tsx";
import { isBare } from "../pages/boards/view.ts";
import { PinDialogLoader } from "./pin.tsx";
import { title } from "./title.ts";

export function Shell() {
  return (
    <div
      class="page"
      data-live={liveness.value}
      data-may={mayChange.value ? "change" : "look"}
      data-bare={isBare.value ? "" : undefined}
    >
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>("#main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <Header />
      <Notices />
      <PageView />
      <p class="unseen" role="status">
        {title.value}
      </p>
      <Help />
      <PaletteLoader />
      <AccountDialogLoader />
      <PinDialogLoader />
      <ChangesDialogLoader />
      <Toasts />
      <Tip />
    </div>
  );
}
