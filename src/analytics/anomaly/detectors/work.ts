/** What kind of work a job is, by its name: jobs that differ only in their number or hash are runs of the same thing. */

/** `training-12`, `llm-serve-7c9f8d-x2k4p` and `resnet_000123` without what makes each of them one of many. */
export function kindOfWork(owner: string): string {
  const kind = owner
    .replace(/-[a-z0-9]{6,10}-[a-z0-9]{5}$/, "")
    .replace(/-(?=[a-z0-9]*\d)[a-z0-9]{5}$/, "")
    .replace(/[-_.:]?\d+$/, "");
  return kind === "" || kind.endsWith("/") ? owner : kind;
}
