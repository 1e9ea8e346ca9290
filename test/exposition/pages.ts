// Pages of metrics, good and bad, each with what it comes to. The same table is read by our parser and scraped by a real
// Prometheus.

import type { TextFormat } from "../../src/formats/exposition/visit.ts";

export interface PageExample {
  readonly says: string;
  readonly format: TextFormat;
  readonly page: string | Buffer;
  /** Series as PromQL writes them, each with its value and perhaps `@ms`; undefined: the page is refused. */
  readonly samples?: readonly string[];
  /** What the refusal says. */
  readonly refused?: RegExp;
  /** Why a Prometheus before 3.0 reads it otherwise: such a one is not asked. */
  readonly since3?: string;
}

const text = (says: string, page: string | Buffer, ...samples: string[]): PageExample => ({
  says,
  format: "text",
  page,
  samples,
});
const badText = (says: string, page: string | Buffer, refused: RegExp): PageExample => ({
  says,
  format: "text",
  page,
  refused,
});
const open = (says: string, page: string, ...samples: string[]): PageExample => ({
  says,
  format: "openmetrics",
  page,
  samples,
});
const badOpen = (says: string, page: string | Buffer, refused: RegExp): PageExample => ({
  says,
  format: "openmetrics",
  page,
  refused,
});

export const textPages: readonly PageExample[] = [
  text("nothing", ""),
  text("blank lines", "\n\n  \n\t\n"),
  text("a name and a value", "a 1\n", "a 1"),
  text("no line break at the end", "a 1", "a 1"),
  text("labels", 'a{b="c",d="e"} 1\n', 'a{b="c", d="e"} 1'),
  text("labels in any order come out sorted", 'a{z="1",b="2"} 1\n', 'a{b="2", z="1"} 1'),
  text("a comma after the last label", 'a{b="c",} 1\n', 'a{b="c"} 1'),
  text("no labels in braces", "a{} 1\n", "a 1"),
  text("blanks between everything", 'a { b = "c" , d = "e" } \t 1 \t 5 \n', 'a{b="c", d="e"} 1 @5'),
  text("no comma between labels", 'a{b="c" d="e"} 1\n', 'a{b="c", d="e"} 1'),
  text("no blank before the value", 'a{b="c"}1\n', 'a{b="c"} 1'),
  text("a sign ends a name", "a+1\n", "a 1"),
  text("colons in a name", "a:b:c 1\n:d 2\n", "a:b:c 1", ":d 2"),
  text("an empty label is no label", 'a{b="",c="d"} 1\n', 'a{c="d"} 1'),
  text("escapes in a value", 'a{b="q\\"s\\\\n\\nx\\t"} 1\n', 'a{b="q\\"s\\\\n\\nx\\\\t"} 1'),
  text("a line break in a value", 'a{b="c\nd"} 1\n', 'a{b="c\\nd"} 1'),
  text("braces, hashes and commas in a value", 'a{b="}{#,="} 1\n', 'a{b="}{#,="} 1'),
  text("UTF-8 in a value", 'a{b="größe \u{1F600}"} 1\n', 'a{b="größe \u{1F600}"} 1'),
  text("a time in milliseconds", "a 1 1234567890123\n", "a 1 @1234567890123"),
  text("remarks", "# anything\n#\n#a\n# HELPa b\n# TYPE\n# UNIT a b\na 1\n", "a 1"),
  text("metadata", "# TYPE a counter\n# HELP a What \\\\ it\\nis\na 1\n", "a 1"),
  text("help without a text", "# HELP a\n# HELP b \na 1\n", "a 1"),
  text("blanks in metadata", "#\t TYPE \t a gauge\na 1\n", "a 1"),
  text("metadata twice and of nothing", "# TYPE a gauge\n# TYPE a counter\n# TYPE b summary\n"),
  ...(
    [
      ["0", "0"],
      ["-0", "-0"],
      ["+5", "5"],
      ["007", "7"],
      ["1.", "1"],
      [".5", "0.5"],
      ["-.5e-3", "-0.0005"],
      ["1E5", "100000"],
      ["1e+05", "100000"],
      ["123456789012345678", "123456789012345680"],
      ["0.1234567890123456789", "0.12345678901234568"],
      ["4.9e-324", "5e-324"],
      ["1e-999", "0"],
      ["1.7976931348623157e308", "1.7976931348623157e+308"],
      ["Inf", "Infinity"],
      ["+inf", "Infinity"],
      ["-INF", "-Infinity"],
      ["infinity", "Infinity"],
      ["NaN", "NaN"],
      ["nan", "NaN"],
    ] as const
  ).map(([given, value]) => text(`the value ${given}`, `a ${given}\n`, `a ${value}`)),
  ...[
    "0x10",
    "0x1p-2",
    "1_000",
    "1e999",
    "",
    "1,5",
    "one",
    "+NaN",
    "1e",
    "e5",
    ".",
    "-",
    "--1",
    "1.2.3",
  ].map((given) => badText(`the value "${given}"`, `a ${given}\n`, /line 1: a number is expected/)),
  badText("a name that begins with a digit", "x 1\n1a 1\n", /line 2: a metric name is expected/),
  badText("a name with a dash", "a-b 1\n", /line 1: a number is expected/),
  badText("a label without quotes", "a{b=c} 1\n", /line 1: a label value in quotes/),
  badText("a label without a value", "a{b} 1\n", /line 1: = is expected/),
  badText("a label with a colon", 'a{b:c="d"} 1\n', /line 1: = is expected/),
  badText("a comma too many", 'a{b="c",,} 1\n', /line 1: a label name is expected/),
  badText("a comma alone", "a{,} 1\n", /line 1: a label name is expected/),
  badText("a brace that does not close", 'a{b="c" 1\n', /line 1: a label name is expected/),
  badText("a quote that does not close", 'a{b="c} 1\n', /line 1: a label value in quotes/),
  badText("a page cut within a label", 'ok 1\na{b="c', /line 2: a label value in quotes/),
  badText("no value", 'a{b="c"}\n', /line 1: a number is expected/),
  badText("two braces", 'a{b="c"}{d="e"} 1\n', /line 1: a number is expected/),
  badText("a time that is not a number", "a 1 x\n", /line 1: a time in milliseconds/),
  badText("a time with a point", "a 1 1.5\n", /line 1: a time in milliseconds/),
  badText("a time before 1970", "a 1 -5\n", /line 1: a time in milliseconds/),
  badText("a time out of bounds", "a 1 9999999999999999999\n", /line 1: the time is out of bounds/),
  badText("something after the time", "a 1 5 6\n", /line 1: a time in milliseconds/),
  badText("a carriage return", "a 1\r\n", /line 1: a number is expected/),
  badText("a type there is not", "# TYPE a thing\n", /line 1: "thing" is not a metric type/),
  badText("two blanks before a type", "# TYPE a  gauge\n", /line 1: " gauge" is not a metric type/),
  badText("no name after TYPE", "# TYPE 1a gauge\n", /line 1: a metric name is expected/),
  badText("a label twice", 'a{b="c",b="d"} 1\n', /line 1: label "b" occurs twice/),
  badText(
    "the name as a label too",
    'a{__name__="b"} 1\n',
    /line 1: label "__name__" occurs twice/,
  ),
  badText("a name only as a label", '{__name__="b"} 1\n', /line 1: the series has no metric name/),
  badText(
    "a value that is no UTF-8",
    Buffer.from('a{b="\xff"} 1\n', "latin1"),
    /line 1: a name or value is not valid UTF-8/,
  ),
  badText(
    "a help that is no UTF-8",
    Buffer.from("# HELP a \xff\n", "latin1"),
    /line 1: the text is not valid UTF-8/,
  ),
  badText("an HTML page", "<!DOCTYPE html>\n", /line 1: a metric name is expected/),
  {
    ...text("a name in quotes", '{"any name.é",b="c"} 1\n', '{"any name.é", b="c"} 1'),
    since3: "quoted names came with 3.0",
  },
  {
    ...text(
      "a label name in quotes",
      '{"a.b","c d"="e"} 1\na{"x-y"="z"} 2\n',
      '{"a.b", "c d"="e"} 1',
      'a{"x-y"="z"} 2',
    ),
    since3: "quoted names came with 3.0",
  },
  {
    ...text("a family in quotes", '# TYPE "a.b" gauge\n{"a.b"} 1\n', '{"a.b"} 1'),
    since3: "quoted names came with 3.0",
  },
  {
    ...badText("a name in and before braces", 'a{"b"} 1\n', /line 1: the metric name occurs twice/),
    since3: "quoted names came with 3.0",
  },
  {
    ...badText("an empty name in quotes", '{""} 1\n', /line 1: the series has no metric name/),
    since3: "quoted names came with 3.0",
  },
  {
    ...text("blanks before a name", "  a 1\n", "a 1"),
    since3: "Prometheus takes the blanks for a part of the name; the format says to ignore them",
  },
];

const eof = "# EOF\n";

export const openMetricsPages: readonly PageExample[] = [
  open("only the end", eof),
  open("the end without a line break", "# EOF"),
  open("a sample", `a 1\n${eof}`, "a 1"),
  open("labels", `a{b="c",d="e"} 1\n${eof}`, 'a{b="c", d="e"} 1'),
  {
    ...open("a comma after the last label", `a{b="c",} 1\n${eof}`, 'a{b="c"} 1'),
    since3: "OpenMetrics had no comma after the last label",
  },
  open("a time in seconds", `a 1 1520879607.789\n${eof}`, "a 1 @1520879607789"),
  open("a time before 1970", `a 1 -1.5\n${eof}`, "a 1 @-1500"),
  open("a time with an exponent", `a 1 1e3\n${eof}`, "a 1 @1000000"),
  open(
    "all kinds of metadata",
    `# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds What \\"it\\" is\na_seconds 1\n${eof}`,
    "a_seconds 1",
  ),
  open("a unit of nothing", `# UNIT a \na 1\n${eof}`, "a 1"),
  open("a help of nothing", `# HELP a \n${eof}`),
  open(
    "types of OpenMetrics",
    `# TYPE a info\n# TYPE b stateset\n# TYPE c gaugehistogram\n# TYPE d unknown\na_info{x="1"} 1\n${eof}`,
    'a_info{x="1"} 1',
  ),
  open(
    "a counter and when it was created",
    `# TYPE a counter\na_total 5\na_created 1520872607.5\n${eof}`,
    "a_total 5",
    "a_created 1520872607.5",
  ),
  open(
    "an exemplar",
    `# TYPE a histogram\na_bucket{le="1.0"} 2 # {trace_id="x y"} 0.5\n${eof}`,
    'a_bucket{le="1.0"} 2',
  ),
  open("an exemplar with a time", `a_total 2 # {t="1"} 0.5 1520879607.7\n${eof}`, "a_total 2"),
  open("a time and an exemplar", `a_total 2 3 # {t="1"} 0.5 1.5\n${eof}`, "a_total 2 @3000"),
  open("an exemplar without labels", `a_total 2 # {} 0.5\n${eof}`, "a_total 2"),
  badOpen("nothing", "", /# EOF is missing/),
  badOpen("no end", "a 1\n", /line 2: # EOF is missing/),
  badOpen("a page cut within a line", "a 1", /line 1: a time in seconds, an exemplar or the end/),
  badOpen("something after the end", `${eof}a 1\n`, /line 1: nothing may follow # EOF/),
  badOpen("an empty line", `a 1\n\n${eof}`, /line 2: a metric name is expected/),
  badOpen("a remark", `# a remark\n${eof}`, /line 1: # TYPE, # HELP, # UNIT or # EOF is expected/),
  badOpen("two blanks before the value", `a  1\n${eof}`, /line 1: a number is expected/),
  badOpen("a blank after the value", `a 1 \n${eof}`, /line 1: a time in seconds/),
  badOpen("a tab before the value", `a\t1\n${eof}`, /line 1: one blank and a value/),
  badOpen("no blank before the value", `a{b="c"}1\n${eof}`, /line 1: one blank and a value/),
  badOpen("blanks between labels", `a{b="c", d="e"} 1\n${eof}`, /line 1: a label name is expected/),
  badOpen("a blank before the brace", `a {b="c"} 1\n${eof}`, /line 1: a number is expected/),
  badOpen("no comma between labels", `a{b="c"d="e"} 1\n${eof}`, /line 1: a comma or } is expected/),
  badOpen("a line break in a value", `a{b="c\nd"} 1\n${eof}`, /line 1: a label value in quotes/),
  badOpen("untyped", `# TYPE a untyped\n${eof}`, /line 1: "untyped" is not a metric type/),
  badOpen("help without a blank", `# HELP a\n${eof}`, /line 1: a text is expected/),
  badOpen(
    "a unit that does not end the name",
    `# UNIT a seconds\n${eof}`,
    /line 1: the unit "seconds"/,
  ),
  badOpen("a time that is not finite", `a 1 NaN\n${eof}`, /line 1: a time in seconds/),
  badOpen("an exemplar without a value", `a 1 # {t="1"}\n${eof}`, /line 1: an exemplar's value/),
  badOpen(
    "an exemplar that is none",
    `a 1 # remark\n${eof}`,
    /line 1: a time in seconds, an exemplar/,
  ),
  badOpen(
    "something after an exemplar",
    `a 1 # {} 1 2 3\n${eof}`,
    /line 1: a time in seconds, an exemplar/,
  ),
  badOpen("a label twice", `a{b="c",b="d"} 1\n${eof}`, /line 1: label "b" occurs twice/),
  {
    ...open("a name in quotes", `# TYPE "a b" gauge\n{"a b",c="d"} 1\n${eof}`, '{"a b", c="d"} 1'),
    since3: "quoted names came with 3.0",
  },
  {
    ...badOpen(
      "a name in quotes in an exemplar",
      `a 1 # {"b"} 1\n${eof}`,
      /line 1: the metric name occurs twice/,
    ),
    since3: "quoted names came with 3.0",
  },
];
