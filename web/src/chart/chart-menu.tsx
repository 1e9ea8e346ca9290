/** The menu of every chart. */
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { toast } from "../ui/toast.ts";
import { chartActions, type ChartContext } from "./chart-actions.ts";

export interface ChartMenuProps extends ChartContext {
  /** Additional entries of this chart, before the common ones. */
  readonly own?: readonly MenuItem[];
}

/** Runs a menu entry; its error is shown as a message. */
export async function runEntry(run: () => void | Promise<void>): Promise<void> {
  try {
    await run();
  } catch (thrown) {
    toast(thrown instanceof Error ? thrown.message : String(thrown), "bad");
  }
}

export function ChartMenu({ own = [], ...chart }: ChartMenuProps) {
  return (
    <Menu
      label={`Menu of ${chart.look.title}`}
      class="quiet chart-more"
      items={[
        ...own,
        ...chartActions
          .filter(({ isOffered }) => isOffered(chart))
          .map(({ label, run }) => ({ label, run: () => void runEntry(() => run(chart)) })),
      ]}
    >
      <span aria-hidden="true">⋯</span>
    </Menu>
  );
}
