/** The possible subjects of "what changed". */
export const changeSubjectKinds = ["gpu", "host", "job"] as const;
export type ChangeSubjectKind = (typeof changeSubjectKinds)[number];
