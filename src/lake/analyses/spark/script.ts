/**
 * The script that Spark SQL runs for analyses: the same SQL, over the Parquet where it lies. Answers come out as lines of
 * JSON behind a mark, so that Spark's other output is ignored. Pure.
 */
import { columns } from "../../../model/columns.ts";
import type { Analysis } from "../analysis.ts";
import { sparkDialect, textSql } from "../dialect.ts";
import type { AnalysisSettings } from "../parameters.ts";
import { analysisSql, isOfJobs, type LakeSpan, samplesSql } from "../statement.ts";

export interface SparkScript {
  readonly analyses: readonly Analysis[];
  readonly settings: AnalysisSettings;
  /** The lake's folder as Spark names it: `hdfs://…`, `s3a://…`, `file:/…`. */
  readonly input: string;
  readonly span: LakeSpan;
  /** Where Spark itself writes the answers, a folder for each, if requested. */
  readonly save?: { readonly folder: string; readonly format: "json" | "csv" | "parquet" };
}

export const answerMark = "gpulse-answer";
const dayMs = 86_400_000;

const isoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export function sparkScript({ analyses, settings, input, span, save }: SparkScript): string {
  const lake = {
    dialect: sparkDialect,
    // Partitions that cannot matter are not opened.
    from: `(select * from lake where date >= date ${textSql(isoDay(Math.max(settings.sinceMs, span.firstMs)))} and date <= date ${textSql(isoDay(Math.min(settings.untilMs, span.lastMs) + dayMs - 1))}) lake_days`,
    has: () => true,
    span,
  };
  const statements = [
    // With a schema of our own a column that a file lacks is absent, as everywhere.
    `create or replace temporary view lake (${schemaSql(analyses, settings)}) using parquet options (path ${textSql(input)})`,
    `create or replace temporary view samples as ${samplesSql(analyses, settings, lake)}`,
    ...(analyses.length > 1 ? ["cache table samples"] : []),
    ...analyses.flatMap((analysis) => {
      const sql = analysisSql(analysis, settings, lake);
      const place =
        save === undefined ? undefined : `${save.folder.replace(/\/+$/, "")}/${analysis.name}`;
      return [
        `select concat('${answerMark} ${analysis.name} ', to_json(struct(*))) as answer from (${sql})`,
        ...(place === undefined || save === undefined
          ? []
          : [
              `insert overwrite directory ${textSql(place)} using ${save.format}${save.format === "csv" ? " options (header 'true')" : ""} select ${save.format === "csv" ? disarmedSql(analysis) : "*"} from (${sql})`,
            ]),
      ];
    }),
  ];
  return `${statements.join(";\n\n")};\n`;
}

/** A text that a spreadsheet would take for a formula gets an apostrophe, as in our own CSV; numbers stay as they are. */
function disarmedSql({ columns: answered }: Analysis): string {
  const starts = "('=', '+', '-', '@', chr(9), chr(13))";
  return answered
    .map(({ name, kind }) =>
      kind === "text"
        ? `if(substr(${name}, 1, 1) in ${starts}, concat(chr(39), ${name}), ${name}) as ${name}`
        : name,
    )
    .join(", ");
}

function schemaSql(analyses: readonly Analysis[], settings: AnalysisSettings): string {
  if (isOfJobs(analyses))
    return [
      "time timestamp",
      ...["job", "user_name", "account", "project"].map((name) => `${name} string`),
      ...(analyses[0]?.reads.map((name) => `${name} double`) ?? []),
      "date date",
    ].join(", ");
  const read = new Set([...analyses.flatMap(({ reads }) => reads), ...(settings.metrics ?? [])]);
  return [
    "time timestamp",
    "host string",
    "uuid string",
    "gpu int",
    "model string",
    ...columns.flatMap(({ name }) => (read.has(name) ? [`${name} double`] : [])),
    "date date",
  ].join(", ");
}
