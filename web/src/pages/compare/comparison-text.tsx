/** The comparison as text: significant differences, undecided ones, and warnings. */
import type { Comparison } from "../../../../src/runs/compare/compare.ts";
import { summarizeComparison, verdictHeadings } from "../../../../src/runs/compare/words.ts";

const levels = { refused: "Refused", warning: "Warning", note: "Note" } as const;

export function ComparisonText({ comparison }: { comparison: Comparison }) {
  const { caveats, statements, subjects } = comparison;
  if (subjects.length < 2) return null;
  const summary = summarizeComparison(subjects, comparison.metrics);
  const real = statements.filter(({ verdict }) => verdict === "real" || verdict === "likely");
  const rest = verdictHeadings.flatMap(([verdict, heading]) => {
    const own = statements.filter((one) => one.verdict === verdict);
    return verdict === "real" || verdict === "likely" || own.length === 0 ? [] : [{ heading, own }];
  });
  return (
    <section class="compare-words" aria-labelledby="words">
      <h2 class="section" id="words">
        What differs
      </h2>
      {summary !== undefined && (
        <p class="compare-summary" data-grade={summary.grade}>
          <strong>{summary.grade}.</strong> {summary.text}
        </p>
      )}
      {real.length > 0 && (
        <ul>
          {real.map(({ subject, metric, headline, text }) => (
            <li key={`${subject} ${metric}`} data-headline={headline ? "" : undefined}>
              {text}
            </li>
          ))}
        </ul>
      )}
      {rest.map(({ heading, own }) => (
        <details key={heading}>
          <summary>{`${heading}: ${own.length}`}</summary>
          <ul>
            {own.map(({ subject, metric, text }) => (
              <li key={`${subject} ${metric}`}>{text}</li>
            ))}
          </ul>
        </details>
      ))}
      {comparison.advice !== undefined && (
        <p class="compare-advice">{comparison.advice.sentence}</p>
      )}
      {caveats.length > 0 && (
        <ul class="compare-caveats" aria-label="Before you read on">
          {caveats.map(({ level, code, sentence }) => (
            <li key={code + sentence} data-level={level}>
              <b>{levels[level]}</b> {sentence}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Links to the comparison as a file. */
export function Reports({ address }: { address: string }) {
  return (
    <p class="compare-reports">
      <span class="unit">This comparison as</span>
      {(["html", "markdown", "csv", "json"] as const).map((format) => (
        <a
          key={format}
          href={`${address}&format=${format}`}
          download={`comparison.${ends[format]}`}
        >
          {format === "html"
            ? "a report"
            : format === "markdown"
              ? "Markdown"
              : format.toUpperCase()}
        </a>
      ))}
    </p>
  );
}

const ends = { html: "html", markdown: "md", csv: "csv", json: "json" } as const;
