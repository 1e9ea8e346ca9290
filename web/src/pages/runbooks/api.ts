/** The response of `/api/runbook`. */

export interface RunbookSectionView {
  readonly alert: string;
  /** Markdown, with its heading. */
  readonly text: string;
}

export interface RunbookChapterView {
  readonly title: string;
  readonly sections: readonly RunbookSectionView[];
}
