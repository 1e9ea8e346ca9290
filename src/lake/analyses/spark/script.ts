/**
 * The script that Spark SQL runs for analyses: the same SQL, over the Parquet files in place. Results are lines of JSON with a
 * prefix, so that Spark's other output is ignored. Pure.
 */
import { columns } from "../../../model/columns.ts";
import type { Analysis } from "../analysis.ts";
import { sparkDialect, textSql } from "../dialect.ts";
import type { AnalysisSettings } from "../parameters.ts";
import { analysisSql, isOfJobs, type LakeSpan, samplesSql } from "../statement.ts";

export interface SparkScript {
  readonly analyses: readonly Analysis[];
  readonly settings: AnalysisSettings;
  /** The lake's folder as a Spark URL: `hdfs://…`, `s3a://…`, `file:/…`. */
  readonly input: string;
  readonly span: LakeSpan;
  /** Where Spark writes the results, one folder each, if requested. */
  readonly save?: { readonly folder: string; readonly format: "json" | "csv" | "parquet" };
}

export const answerMark = "gpulse-answer";
const dayMs = 86_400_000;

const isoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export function sparkScript({ analyses, settings, input, span, save }: SparkScript): string {
  const lake = {
    dialect: sparkDialect,
    parts: [
      {
        // Prunes partitions outside the requested time.
        from: `(select * from lake where date >= date ${textSql(isoDay(Math.max(settings.sinceMs, span.firstMs)))} and date <= date ${textSql(isoDay(Math.min(settings.untilMs, span.lastMs) + dayMs - 1))}) lake_days`,
        has: () => true,
      },
    ],
    span,
  };
  const statements = [
    // With an explicit schema, a column that a file lacks is null.
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

/** As in our CSV, a text that a spreadsheet would evaluate as a formula gets an apostrophe; numbers stay unchanged. */
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
