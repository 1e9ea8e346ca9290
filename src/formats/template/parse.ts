/** Parses tokens to a tree: Go's text/template grammar. Every function must be known, as Go requires at parse time. */
import {
  formatPosition,
  lex,
  TemplateError,
  type TemplateToken,
  type TemplateTokenKind,
  readChar,
  readNumber,
  readString,
  type Command,
  type TemplateNode,
  type TemplateOperand,
  type TemplatePipeline,
  type Term,
} from "./lex.ts";

const keywords = new Set([
  "block",
  "break",
  "continue",
  "define",
  "else",
  "end",
  "if",
  "range",
  "template",
  "with",
]);
const maxDepth = 100;

export interface ParsedTemplate {
  readonly main: readonly TemplateNode[];
  readonly defined: ReadonlyMap<string, readonly TemplateNode[]>;
}

/** @throws TemplateError with the position. */
export function parseTemplate(
  source: string,
  isFunction: (name: string) => boolean,
): ParsedTemplate {
  return new Parser(source, isFunction).parse();
}

type BlockEnd = "end" | "else" | "eof";

class Parser {
  readonly #source: string;
  readonly #tokens: readonly TemplateToken[];
  readonly #isFunction: (name: string) => boolean;
  readonly #defined = new Map<string, readonly TemplateNode[]>();
  #next = 0;
  #depth = 0;
  #loops = 0;
  #variables: string[] = ["$"];

  constructor(source: string, isFunction: (name: string) => boolean) {
    this.#source = source;
    this.#tokens = lex(source);
    this.#isFunction = isFunction;
  }

  parse(): ParsedTemplate {
    const { nodes, ending } = this.#list(true);
    if (ending !== "eof") throw this.#problem(`unexpected {{${ending}}}`);
    return { main: nodes, defined: this.#defined };
  }

  #list(top = false): { nodes: TemplateNode[]; ending: BlockEnd } {
    if (++this.#depth > maxDepth) throw this.#problem("too many nested actions");
    const nodes: TemplateNode[] = [];
    for (;;) {
      const token = this.#take();
      if (token.kind === "end") {
        if (!top) throw this.#problem("unexpected EOF");
        this.#depth--;
        return { nodes, ending: "eof" };
      }
      if (token.kind === "text") {
        nodes.push({ kind: "text", text: token.text });
        continue;
      }
      const ending = this.#action(nodes, top);
      if (ending === undefined) continue;
      this.#depth--;
      return { nodes, ending };
    }
  }

  /** Parses after `{{`. Returns how the list ends, if this action ends it. */
  #action(nodes: TemplateNode[], top: boolean): BlockEnd | undefined {
    this.#spaces();
    const word = this.#peek().kind === "word" ? this.#peek().text : "";
    if (!keywords.has(word)) {
      const pipeline = this.#pipeline("close");
      nodes.push({ kind: "print", pipeline });
      return undefined;
    }
    this.#take();
    switch (word) {
      case "end":
        this.#close();
        return "end";
      case "else":
        // The caller that opened the list reads what follows `else` (`if`, `with`).
        return "else";
      case "if":
      case "with":
      case "range":
        nodes.push(this.#branch(word));
        return undefined;
      case "template":
        nodes.push(this.#call());
        return undefined;
      case "define":
        if (!top || this.#depth > 1) throw this.#problem("unexpected {{define}}");
        this.#define();
        return undefined;
      case "block":
        nodes.push(this.#block());
        return undefined;
      default:
        if (this.#loops === 0) throw this.#problem(`{{${word}}} outside {{range}}`);
        this.#close();
        nodes.push({ kind: word === "break" ? "break" : "continue" });
        return undefined;
    }
  }

  #branch(kind: "if" | "with" | "range"): TemplateNode {
    const known = this.#variables.length;
    const pipeline = this.#pipeline("close", kind === "range" ? 2 : 1);
    if (pipeline.commands.length === 0) throw this.#problem(`missing value for ${kind}`);
    if (kind === "range") this.#loops++;
    const { nodes: body, ending } = this.#list();
    if (kind === "range") this.#loops--;
    const otherwise = ending === "else" ? this.#otherwise(kind) : [];
    this.#variables.length = known;
    return { kind, pipeline, body, otherwise };
  }

  #otherwise(kind: "if" | "with" | "range"): TemplateNode[] {
    this.#spaces();
    const next = this.#peek();
    if (next.kind === "word" && next.text === kind && kind !== "range") {
      this.#take();
      return [this.#branch(kind)];
    }
    this.#close();
    const { nodes, ending } = this.#list();
    if (ending !== "end") throw this.#problem("expected end; found {{else}}");
    return nodes;
  }

  #call(): TemplateNode {
    const { name, at } = this.#name("template");
    this.#spaces();
    const pipeline = this.#peek().kind === "close" ? undefined : this.#pipeline("close");
    if (pipeline === undefined) this.#close();
    return { kind: "template", name, pipeline, at };
  }

  #define(): void {
    const { name } = this.#name("define");
    this.#close();
    const outer = this.#variables;
    this.#variables = ["$"];
    const { nodes, ending } = this.#list();
    if (ending !== "end") throw this.#problem("unexpected {{else}} in define clause");
    this.#variables = outer;
    this.#defined.set(name, nodes);
  }

  #block(): TemplateNode {
    const { name, at } = this.#name("block");
    const pipeline = this.#pipeline("close");
    const outer = this.#variables;
    this.#variables = ["$"];
    const { nodes, ending } = this.#list();
    if (ending !== "end") throw this.#problem("unexpected {{else}} in block clause");
    this.#variables = outer;
    this.#defined.set(name, nodes);
    return { kind: "template", name, pipeline, at };
  }

  #name(clause: string): { name: string; at: string } {
    this.#spaces();
    const token = this.#take();
    if (token.kind !== "string")
      throw this.#problem(`unexpected "${token.text}" in ${clause} clause`);
    return { name: readString(token.text), at: formatPosition(this.#source, token.at) };
  }

  #pipeline(end: "close" | "right", maxDeclares = 1): TemplatePipeline {
    this.#spaces();
    const { declares, assigns } = this.#declares(maxDeclares);
    const commands: Command[] = [];
    for (;;) {
      this.#spaces();
      const token = this.#peek();
      if (token.kind === end) {
        this.#take();
        break;
      }
      const command = this.#command();
      if (command[0].operand.kind === "nil") throw this.#problem("nil is not a command");
      commands.push(command);
      this.#spaces();
      const after = this.#peek();
      if (after.kind === "pipe") {
        this.#take();
        this.#spaces();
        if (this.#peek().kind === end) throw this.#problem("missing value for command");
      } else if (after.kind !== end) throw this.#problem(`unexpected "${after.text}" in operand`);
    }
    if (commands.length === 0) throw this.#problem("missing value for command");
    if (!assigns) this.#variables.push(...declares);
    return { declares, assigns, commands };
  }

  /** `$x :=`, `$x =`, `$i, $x :=`. */
  #declares(max: number): { declares: string[]; assigns: boolean } {
    const start = this.#next;
    const names: string[] = [];
    while (this.#peek().kind === "variable" && names.length < max) {
      names.push(this.#take().text);
      this.#spaces();
      const token = this.#peek();
      if (token.kind === "declare" || token.kind === "assign") {
        this.#take();
        if (token.kind === "assign")
          for (const name of names)
            if (!this.#variables.includes(name))
              throw this.#problem(`undefined variable "${name}"`);
        return { declares: names, assigns: token.kind === "assign" };
      }
      if (token.kind !== "comma") break;
      this.#take();
      this.#spaces();
    }
    this.#next = start;
    return { declares: [], assigns: false };
  }

  #command(): Command {
    const terms: Term[] = [];
    for (;;) {
      terms.push(this.#term());
      const after = this.#peek();
      if (after.kind !== "space") break;
      this.#spaces();
      if (["pipe", "close", "right"].includes(this.#peek().kind)) break;
    }
    const [first, ...rest] = terms;
    if (first === undefined) throw this.#problem("missing value for command");
    return [first, ...rest];
  }

  #term(): Term {
    const token = this.#take();
    const at = formatPosition(this.#source, token.at);
    const operand = this.#operand(token);
    const fields: string[] = token.kind === "field" ? [token.text.slice(1)] : [];
    while (this.#peek().kind === "field") fields.push(this.#take().text.slice(1));
    if (fields.length > 0 && (operand.kind === "literal" || operand.kind === "nil"))
      throw this.#problem(`unexpected . after term "${token.text}"`);
    return { operand, fields, at };
  }

  #operand(token: TemplateToken): TemplateOperand {
    const { kind, text } = token;
    if (kind === "dot" || kind === "field") return { kind: "dot" };
    if (kind === "string") return { kind: "literal", value: readString(text) };
    if (kind === "char") return { kind: "literal", value: readChar(text) };
    if (kind === "number") return { kind: "literal", value: this.#number(token) };
    if (kind === "left") return { kind: "pipeline", pipeline: this.#pipeline("right") };
    if (kind === "variable") {
      if (this.#variables.includes(text)) return { kind: "variable", name: text };
      throw this.#problem(`undefined variable "${text}"`, token);
    }
    if (kind !== "word") throw this.#problem(`unexpected "${text}" in operand`, token);
    if (text === "true" || text === "false") return { kind: "literal", value: text === "true" };
    if (text === "nil") return { kind: "nil" };
    if (this.#isFunction(text)) return { kind: "function", name: text };
    throw this.#problem(`function "${text}" not defined`, token);
  }

  #number(token: TemplateToken): number | bigint {
    const value = readNumber(token.text);
    if (value === undefined) throw this.#problem(`bad number syntax: "${token.text}"`, token);
    return value;
  }

  #close(): void {
    this.#spaces();
    const token = this.#take();
    if (token.kind !== "close") throw this.#problem(`unexpected "${token.text}" in action`, token);
  }

  #spaces(): void {
    while (this.#peek().kind === "space") this.#next++;
  }

  #peek(): TemplateToken {
    return this.#tokens[this.#next] ?? endToken;
  }

  #take(): TemplateToken {
    const token = this.#peek();
    this.#next++;
    return token;
  }

  #problem(sentence: string, token = this.#tokens[Math.max(0, this.#next - 1)]): TemplateError {
    return new TemplateError(`${formatPosition(this.#source, token?.at ?? 0)}: ${sentence}`);
  }
}

const endToken: { kind: TemplateTokenKind; text: string; at: number } = {
  kind: "end",
  text: "",
  at: 0,
};
