/** The PromQL editor: CodeMirror with Prometheus's own language support, with completion from this hub. */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, insertNewline } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter, lintKeymap } from "@codemirror/lint";
import { EditorState, Prec, StateEffect, type Text } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { PromQLExtension } from "@prometheus-io/codemirror-promql";
import { useEffect, useRef } from "preact/hooks";
import { editorTheme, highlighting } from "./editor-theme.ts";

export interface EditorProps {
  readonly onChange: (text: string) => void;
  readonly onRun: (text: string) => void;
  /** The query that was run: the editor is set to it, and the error refers to it. */
  readonly ran: string;
  /** Counts the runs, so that running the same query again also replaces the typed text. */
  readonly turn: number;
  /** The hub's error for the query, shown at its position. */
  readonly error: string | undefined;
  /** Warnings and infos of its result, underlined at their positions. */
  readonly annotations: readonly string[];
}

/** The hub has returned a new message about the query. */
const queryErrorChanged = StateEffect.define();

type Latest = Pick<EditorProps, "onChange" | "onRun" | "error" | "annotations" | "ran">;

/** Position of a parse error: `1:5: parse error: …`, counted from 1. */
const PLACE = /^(?:.*\b)?(\d+):(\d+): parse error: ([\s\S]*)$/;

/** Position of an annotation: `PromQL warning: … (1:5)`. */
const ANNOTATION = /^PromQL (warning|info): ([\s\S]*) \((\d+):(\d+)\)$/;

export function Editor({ ran, turn, onChange, onRun, error, annotations }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const latest = useRef<Latest>({ onChange, onRun, error, annotations, ran });
  latest.current = { onChange, onRun, error, annotations, ran };
  useEffect(() => {
    if (host.current === null) return undefined;
    // In a shadow root CodeMirror adopts its style sheets; in the page it would write <style>, which the content security policy
    // forbids.
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const promql = new PromQLExtension().setComplete({
      remote: {
        url: "",
        apiPrefix: "api/v1",
        httpMethod: "GET",
        fetchFn: (input, init) => fetch(input, init),
      },
    });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({ doc: ran, extensions: extensions(promql, latest) }),
    });
    view.current = made;
    return () => {
      view.current = undefined;
      made.destroy();
      promql.destroy();
    };
  }, []);
  useEffect(() => {
    const editor = view.current;
    // The text being typed is never replaced, because an older text could overwrite a newer one.
    if (editor !== undefined && editor.state.doc.toString() !== ran)
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: ran } });
  }, [ran, turn]);
  useEffect(() => {
    view.current?.dispatch({ effects: queryErrorChanged.of(null) });
  }, [error, annotations.join("\n")]);
  return <div class="promql" ref={host} />;
}

const extensions = (promql: PromQLExtension, latest: { readonly current: Latest }) => [
  history(),
  bracketMatching(),
  closeBrackets(),
  autocompletion({ icons: false }),
  syntaxHighlighting(highlighting),
  promql.asExtension(),
  linter(({ state }) => pointed(state.doc, latest.current), {
    delay: 0,
    needsRefresh: ({ transactions }) =>
      transactions.some(({ effects }) => effects.some((effect) => effect.is(queryErrorChanged))),
  }),
  editorTheme,
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": "PromQL query" }),
  placeholder("PromQL, such as gpu_power_watts: Enter runs it, Shift+Enter adds a line"),
  // Completion comes first: Enter accepts a completion, and runs the query only if none is open.
  keymap.of([...completionKeymap]),
  Prec.high(
    keymap.of([
      { key: "Shift-Enter", run: insertNewline },
      { key: "Mod-Enter", run: runWith(latest) },
    ]),
  ),
  keymap.of([{ key: "Enter", run: runWith(latest) }]),
  keymap.of([...closeBracketsKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
  EditorView.domEventHandlers({
    beforeinput: typeOver,
    blur: (_event, view) => closeCompletion(view) && false,
  }),
  EditorView.updateListener.of(({ docChanged, state }) => {
    if (docChanged) latest.current.onChange(state.doc.toString());
  }),
];

const runWith =
  (latest: { readonly current: Latest }) =>
  (view: EditorView): boolean => {
    closeCompletion(view);
    latest.current.onRun(view.state.doc.toString());
    return true;
  };

/**
 * Chromium would copy the style of the replaced text to the typed one with a style attribute, which the content security policy
 * forbids.
 */
function typeOver(event: InputEvent, view: EditorView): boolean {
  const { data, inputType } = event;
  if (inputType !== "insertText" || data === null || view.state.selection.main.empty) return false;
  // Brackets and quotes go around the selection instead.
  if (/^[([{"'`]$/.test(data)) return false;
  view.dispatch(view.state.replaceSelection(data), {
    userEvent: "input.type",
    scrollIntoView: true,
  });
  event.preventDefault();
  return true;
}

/** The hub's messages about the current text, at their positions. */
function pointed(doc: Text, { error, annotations, ran }: Latest): Diagnostic[] {
  if (doc.toString().trim() !== ran) return [];
  const [, line, column, says = ""] = PLACE.exec(error ?? "") ?? [];
  if (line !== undefined) return diagnostic(doc, line, column, "error", says);
  return annotations.flatMap((text) => {
    const [, kind, sentence = "", at, place] = ANNOTATION.exec(text) ?? [];
    return diagnostic(doc, at, place, kind === "info" ? "info" : "warning", sentence);
  });
}

function diagnostic(
  doc: Text,
  line: string | undefined,
  column: string | undefined,
  severity: Diagnostic["severity"],
  message: string,
): Diagnostic[] {
  if (line === undefined || Number(line) > doc.lines) return [];
  const at = Math.min(doc.length, doc.line(Number(line)).from + Math.max(0, Number(column) - 1));
  const from = Math.max(0, Math.min(at, doc.length - 1));
  return [{ from, to: Math.min(doc.length, from + 1), severity, message }];
}
