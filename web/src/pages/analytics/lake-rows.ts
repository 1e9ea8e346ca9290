/** Lake queries and the rows of their results. Pure. */

export type LakeResultRow = Readonly<Record<string, string | number | null>>;

export interface AnalysisQuery {
  readonly scope: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Additional parameters. */
  readonly more?: Readonly<Record<string, string | undefined>>;
}

export function analysisPath(
  name: string,
  { scope, fromMs, toMs, more = {} }: AnalysisQuery,
): string {
  const query = new URLSearchParams({
    since: new Date(fromMs).toISOString(),
    until: new Date(toMs).toISOString(),
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  });
  const [, kind, who = ""] = /^(host|gpu):(.*)$/s.exec(scope) ?? [];
  if (kind !== undefined) query.set(kind, who);
  for (const [key, value] of Object.entries(more)) if (value !== undefined) query.set(key, value);
  return `api/analytics/${name}?${query.toString()}`;
}

export const numberIn = (row: LakeResultRow, name: string): number | undefined => {
  const value = row[name];
  return typeof value === "number" ? value : undefined;
};

export const textIn = (row: LakeResultRow, name: string): string => String(row[name] ?? "");

/** The id of a row's GPU. */
export const gpuIn = (row: LakeResultRow): string =>
  `${textIn(row, "uuid")}@${textIn(row, "host")}`;

/** The last row of each GPU; rows are sorted by day. */
export function newestRowPerGpu(rows: readonly LakeResultRow[]): readonly LakeResultRow[] {
  return [...new Map(rows.map((row) => [gpuIn(row), row])).values()];
}
