/** The "What changed here?" dialog of every chart, loaded when it is first opened. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { changesQuestion } from "../chart/changes-subject.ts";

export function ChangesDialogLoader() {
  const [ChangesDialog, setChangesDialog] = useState<ComponentType | undefined>(undefined);
  const isWanted = changesQuestion.value !== undefined;
  useEffect(() => {
    if (!isWanted || ChangesDialog !== undefined) return;
    import("../changes/changes-dialog.tsx").then(
      (loaded) => setChangesDialog(() => loaded.ChangesDialog),
      () => {
        changesQuestion.value = undefined;
      },
    );
  }, [isWanted]);
  return ChangesDialog === undefined ? null : <ChangesDialog />;
}
