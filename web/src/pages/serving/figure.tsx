/** A figure of a server with its unit, or the reason for its absence. */
import {
  type FigureName,
  figureSpecs,
  type FigureUnit,
  type ServingReplica,
} from "../../../../src/view/serving/figures.ts";
import { formatFigureOf } from "../../../../src/view/serving/text.ts";

/** Units that the shared text of a figure leaves to the head of a column. */
const unitTexts: Readonly<Partial<Record<FigureUnit, string>>> = {
  "tokens/s": "tok/s",
  "requests/s": "req/s",
  "tokens/J": "tok/J",
  "J/token": "J/tok",
  "per minute": "/min",
};

export function FigureValue({
  replica,
  name,
  currency,
}: {
  replica: ServingReplica;
  name: FigureName;
  currency?: string | undefined;
}) {
  const figure = replica.figures[name];
  if ("absent" in figure) return <NotKnown reason={figure.absent} />;
  // The page separates thousands by narrow spaces, the terminal by commas.
  const text = formatFigureOf(replica, name, currency).replaceAll(",", "\u202f");
  const unit = unitTexts[figureSpecs[name].unit];
  return (
    <span class="value">
      {text}
      {unit !== undefined && <span class="unit"> {unit}</span>}
    </span>
  );
}

export const NotKnown = ({ reason }: { reason: string }) => (
  <span class="absent" data-tip={reason} aria-label={`not available: ${reason}`}>
    n/a
  </span>
);

export function figureNumber({ figures }: ServingReplica, name: FigureName): number | undefined {
  const figure = figures[name];
  return "absent" in figure ? undefined : figure.value;
}

export const figureTip = (name: FigureName): string => figureSpecs[name].help;
