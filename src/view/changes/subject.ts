/** What "what changed" may be asked about. */
export const changeSubjectKinds = ["gpu", "host", "job"] as const;
export type ChangeSubjectKind = (typeof changeSubjectKinds)[number];
