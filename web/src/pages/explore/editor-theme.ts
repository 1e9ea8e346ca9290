/** The editor's theme, from the page's variables, which reach into its shadow root and follow the page's theme. */
import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export const highlighting = HighlightStyle.define([
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: [tags.function(tags.variableName), tags.operatorKeyword], color: "var(--code-call)" },
  { tag: tags.labelName, color: "var(--code-label)" },
  {
    tag: [tags.operator, tags.modifier, tags.paren, tags.squareBracket, tags.brace],
    color: "var(--muted)",
  },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

export const editorTheme = EditorView.theme({
  "&": { fontSize: "0.8125rem", backgroundColor: "var(--raised)", color: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px", borderRadius: "3px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.375rem" },
  ".cm-content": { padding: "0.25rem 0", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-matchingBracket": { backgroundColor: "var(--track)", outline: "none" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--track)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-tooltip": {
    border: "1px solid var(--edge)",
    borderRadius: "0.375rem",
    backgroundColor: "var(--raised)",
    color: "var(--text)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "18rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.125rem 0.5rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--text)",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionInfo": { padding: "0.5rem 0.75rem", maxWidth: "24rem", fontFamily: "var(--font)" },
  // CodeMirror's own underline is a data: image, which the content security policy forbids.
  ".cm-lintRange": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad) 1px",
    textUnderlineOffset: "0.2em",
  },
  ".cm-diagnostic": { padding: "0.25rem 0.5rem", fontFamily: "var(--font)" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
});
