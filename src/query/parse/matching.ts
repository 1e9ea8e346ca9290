/** How a binary operation pairs its sides: bool, on, ignoring, group_left, group_right and fill. */
import type { SyntaxNode } from "@lezer/common";
import type { VectorMatching } from "../ast.ts";
import { numberOf } from "./literal.ts";
import { children, type QueryTextReader } from "./reader.ts";

export function matchingOf(
  reader: QueryTextReader,
  modifiers: readonly SyntaxNode[],
): { bool: boolean; matching: VectorMatching } {
  const matching: VectorMatching = { card: "one-to-one", labels: [], on: false, include: [] };
  let bool = false;
  for (const modifier of modifiers) {
    if (modifier.name === "BoolModifier") bool = true;
    else if (modifier.name === "MatchingModifierClause") readClause(reader, modifier, matching);
    else if (modifier.name === "FillModifier") readFill(reader, modifier, matching);
  }
  return { bool, matching };
}

function readClause(reader: QueryTextReader, clause: SyntaxNode, matching: VectorMatching): void {
  const [how, labels, group, include] = children(clause);
  matching.on = how?.name === "On";
  if (labels !== undefined) matching.labels = reader.labels(labels);
  if (group === undefined) return;
  matching.card = group.name === "GroupLeft" ? "many-to-one" : "one-to-many";
  if (include !== undefined) matching.include = reader.labels(include);
}

function readFill(reader: QueryTextReader, modifier: SyntaxNode, matching: VectorMatching): void {
  for (const clause of children(modifier)) {
    const literal = clause.getChild("NumberDurationLiteral");
    if (literal === null) continue;
    const { value } = numberOf(reader, literal);
    if (clause.name !== "FillRightClause") matching.fillLeft = value;
    if (clause.name !== "FillLeftClause") matching.fillRight = value;
  }
}
