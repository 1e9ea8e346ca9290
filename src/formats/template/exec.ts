/**
 * Executes a parsed template: text in, text out, within limits. It is synchronous: the caller runs the queries (see `query` in
 * functions/prometheus.ts).
 */
import {
  builtins,
  escapeHtml,
  type Functions,
  itemsOf,
  type TemplateFunction,
} from "./builtins.ts";
import {
  TemplateError,
  type Command,
  type TemplateNode,
  type TemplatePipeline,
  type Term,
} from "./lex.ts";
import { parseTemplate } from "./parse.ts";
import {
  GoMap,
  isObject,
  isTrue,
  type Method,
  printValue,
  SafeText,
  type TemplateValue,
  typeName,
} from "./value.ts";

export interface TemplateLimits {
  /** Limit of the output. */
  readonly maxLength: number;
  /** Nodes and calls executed. */
  readonly maxSteps: number;
}

const defaultTemplateLimits: TemplateLimits = { maxLength: 1_000_000, maxSteps: 1_000_000 };
const maxDepth = 100;
/** The arguments of functions cost as well: this many characters count as one step. */
const lettersPerStep = 100;

/** Looks up a function: the set's own take precedence over Go's. */
function functionOf(own: Functions, name: string): TemplateFunction | undefined {
  if (Object.hasOwn(own, name)) return own[name];
  return Object.hasOwn(builtins, name) ? builtins[name] : undefined;
}

export class TemplateSet {
  readonly #functions: Functions;
  readonly #defined: Map<string, readonly TemplateNode[]>;
  readonly #html: boolean;

  constructor(
    functions: Functions,
    html = false,
    defined: ReadonlyMap<string, readonly TemplateNode[]> = new Map(),
  ) {
    this.#functions = functions;
    this.#html = html;
    this.#defined = new Map(defined);
  }

  /** Adds the definitions of a source; `name` prints the source's own text. */
  add(source: string, name = ""): void {
    const isFunction = (word: string): boolean =>
      word === "and" || word === "or" || functionOf(this.#functions, word) !== undefined;
    const { main, defined } = parseTemplate(source, isFunction);
    for (const [key, nodes] of defined) this.#defined.set(key, nodes);
    if (name !== "") this.#defined.set(name, main);
  }

  has(name: string): boolean {
    return this.#defined.has(name);
  }

  /** A copy of the set, to which templates can be added without changing this one. */
  clone(html = this.#html): TemplateSet {
    return new TemplateSet(this.#functions, html, this.#defined);
  }

  run(name: string, data: TemplateValue, limits: TemplateLimits = defaultTemplateLimits): string {
    return new Run(this.#functions, this.#defined, this.#html, limits).template(name, data);
  }
}

/** How the enclosing list continues after a node. */
type Flow = "on" | "break" | "continue";
type Branch = Extract<TemplateNode, { readonly body: readonly TemplateNode[] }>;
type Scope = { readonly name: string; value: TemplateValue }[];

class Run {
  readonly #functions: Functions;
  readonly #defined: ReadonlyMap<string, readonly TemplateNode[]>;
  readonly #html: boolean;
  readonly #limits: TemplateLimits;
  readonly #parts: string[] = [];
  #length = 0;
  #steps = 0;
  #depth = 0;

  constructor(
    functions: Functions,
    defined: ReadonlyMap<string, readonly TemplateNode[]>,
    html: boolean,
    limits: TemplateLimits,
  ) {
    this.#functions = functions;
    this.#defined = defined;
    this.#html = html;
    this.#limits = limits;
  }

  template(name: string, data: TemplateValue): string {
    this.#call(name, data, "");
    return this.#parts.join("");
  }

  #call(name: string, data: TemplateValue, at: string): void {
    const nodes = this.#defined.get(name);
    if (nodes === undefined)
      throw new TemplateError(`${at === "" ? "" : `${at}: `}template "${name}" not defined`);
    if (++this.#depth > maxDepth) throw new TemplateError("templates call each other too deeply");
    this.#nodes(nodes, data, [{ name: "$", value: data }]);
    this.#depth--;
  }

  #nodes(nodes: readonly TemplateNode[], dot: TemplateValue, scope: Scope): Flow {
    const known = scope.length;
    let flow: Flow = "on";
    for (const node of nodes) {
      flow = this.#node(node, dot, scope);
      if (flow !== "on") break;
    }
    scope.length = known;
    return flow;
  }

  #node(node: TemplateNode, dot: TemplateValue, scope: Scope): Flow {
    this.#step();
    if (node.kind === "break" || node.kind === "continue") return node.kind;
    if (node.kind === "text") this.#write(node.text);
    else if (node.kind === "print") {
      const value = this.#pipeline(node.pipeline, dot, scope);
      if (node.pipeline.declares.length === 0) this.#write(this.#shown(value));
    } else if (node.kind === "template") {
      const { pipeline } = node;
      const data = pipeline === undefined ? null : this.#pipeline(pipeline, dot, scope);
      this.#call(node.name, data, node.at);
    } else if (node.kind === "range") this.#range(node, dot, scope);
    else return this.#choose(node, dot, scope);
    return "on";
  }

  /** Executes `if` and `with`. */
  #choose(node: Branch, dot: TemplateValue, scope: Scope): Flow {
    const known = scope.length;
    const value = this.#pipeline(node.pipeline, dot, scope);
    const holds = isTrue(value);
    const here = holds && node.kind === "with" ? value : dot;
    const flow = this.#nodes(holds ? node.body : node.otherwise, here, scope);
    scope.length = known;
    return flow;
  }

  #range(node: Branch, dot: TemplateValue, scope: Scope): void {
    const known = scope.length;
    const { declares, assigns } = node.pipeline;
    const value = this.#pipeline({ ...node.pipeline, declares: [], assigns: false }, dot, scope);
    const pairs = pairsOf(value);
    if (pairs.length === 0) this.#nodes(node.otherwise, dot, scope);
    for (const [key, item] of pairs) {
      const [first, second] = declares;
      if (first !== undefined) this.#set(scope, first, second === undefined ? item : key, assigns);
      if (second !== undefined) this.#set(scope, second, item, assigns);
      const flow = this.#nodes(node.body, item, scope);
      scope.length = known;
      if (flow === "break") break;
    }
  }

  #set(scope: Scope, name: string, value: TemplateValue, assigns: boolean): void {
    if (!assigns) {
      scope.push({ name, value });
      return;
    }
    const found = scope.findLast((variable) => variable.name === name);
    if (found === undefined) throw new TemplateError(`undefined variable ${name}`);
    found.value = value;
  }

  #pipeline(pipeline: TemplatePipeline, dot: TemplateValue, scope: Scope): TemplateValue {
    let value: TemplateValue | undefined;
    for (const command of pipeline.commands) value = this.#command(command, dot, scope, value);
    const result = value ?? null;
    for (const name of pipeline.declares) this.#set(scope, name, result, pipeline.assigns);
    return result;
  }

  #command(
    command: Command,
    dot: TemplateValue,
    scope: Scope,
    piped: TemplateValue | undefined,
  ): TemplateValue {
    this.#step();
    const [first, ...rest] = command;
    const { operand, fields } = first;
    if (operand.kind === "function" && fields.length === 0) {
      if (operand.name === "and" || operand.name === "or")
        return this.#shortCircuit(operand.name, rest, dot, scope, piped);
      return this.#function(operand.name, this.#args(rest, dot, scope, piped), first.at);
    }
    const args = rest.length > 0 || piped !== undefined ? this.#args(rest, dot, scope, piped) : [];
    if (fields.length === 0) {
      if (args.length > 0)
        throw new TemplateError(`${first.at}: can't give argument to non-function`);
      return this.#operand(first, dot, scope);
    }
    return this.#fields(this.#operand(first, dot, scope), first, args);
  }

  #shortCircuit(
    name: "and" | "or",
    terms: readonly Term[],
    dot: TemplateValue,
    scope: Scope,
    piped: TemplateValue | undefined,
  ): TemplateValue {
    let value: TemplateValue = null;
    for (const term of terms) {
      value = this.#term(term, dot, scope);
      if (isTrue(value) === (name === "or")) return value;
    }
    return piped ?? value;
  }

  #args(
    terms: readonly Term[],
    dot: TemplateValue,
    scope: Scope,
    piped: TemplateValue | undefined,
  ): TemplateValue[] {
    const args = terms.map((term) => this.#term(term, dot, scope));
    return piped === undefined ? args : [...args, piped];
  }

  #term(term: Term, dot: TemplateValue, scope: Scope): TemplateValue {
    const value = this.#operand(term, dot, scope);
    return term.fields.length === 0 ? value : this.#fields(value, term, []);
  }

  #operand({ operand, at }: Term, dot: TemplateValue, scope: Scope): TemplateValue {
    switch (operand.kind) {
      case "dot":
        return dot;
      case "nil":
        return null;
      case "literal":
        return operand.value;
      case "variable":
        return scope.findLast(({ name }) => name === operand.name)?.value ?? null;
      case "function":
        return this.#function(operand.name, [], at);
      case "pipeline": {
        const known = scope.length;
        const value = this.#pipeline(operand.pipeline, dot, scope);
        scope.length = known;
        return value;
      }
    }
  }

  /** Resolves the fields; the last one may be a method that takes the arguments. */
  #fields(
    start: TemplateValue,
    { fields, at }: Term,
    args: readonly TemplateValue[],
  ): TemplateValue {
    let value = start;
    fields.forEach((name, index) => {
      const last = index === fields.length - 1;
      value = fieldOf(value, name, last ? args : [], at);
    });
    return value;
  }

  #function(name: string, args: readonly TemplateValue[], at: string): TemplateValue {
    const found = functionOf(this.#functions, name);
    if (found === undefined) throw new TemplateError(`${at}: function "${name}" not defined`);
    // Text passed between functions never reaches the output, but could still double in size.
    for (const arg of args) if (typeof arg === "string") this.#step(arg.length / lettersPerStep);
    const value = found(args);
    if (typeof value === "string" && value.length > this.#limits.maxLength) throw this.#tooLong();
    return value;
  }

  #shown(value: TemplateValue): string {
    if (!this.#html || value instanceof SafeText) return printValue(value);
    return escapeHtml(printValue(value));
  }

  #write(text: string): void {
    this.#length += text.length;
    if (this.#length > this.#limits.maxLength) throw this.#tooLong();
    this.#parts.push(text);
  }

  #tooLong(): TemplateError {
    return new TemplateError(`the text is longer than ${this.#limits.maxLength} characters`);
  }

  #step(steps = 1): void {
    this.#steps += steps;
    if (this.#steps > this.#limits.maxSteps)
      throw new TemplateError(`the template takes more than ${this.#limits.maxSteps} steps`);
  }
}

function fieldOf(
  value: TemplateValue,
  name: string,
  args: readonly TemplateValue[],
  at: string,
): TemplateValue {
  const method = methodOf(value, name);
  if (method !== undefined) return method(args);
  if (args.length > 0)
    throw new TemplateError(`${at}: ${name} has arguments but cannot be invoked as function`);
  if (value instanceof GoMap) return value.entries.get(name) ?? value.zero;
  if (value === null) throw new TemplateError(`${at}: nil data; no entry for key "${name}"`);
  if (isObject(value) && value.fields !== undefined && Object.hasOwn(value.fields, name))
    return value.fields[name] ?? null;
  throw new TemplateError(`${at}: can't evaluate field ${name} in type ${typeName(value)}`);
}

function methodOf(value: TemplateValue, name: string): Method | undefined {
  const methods = value instanceof GoMap || isObject(value) ? value.methods : undefined;
  return methods !== undefined && Object.hasOwn(methods, name) ? methods[name] : undefined;
}

function pairsOf(value: TemplateValue): readonly (readonly [TemplateValue, TemplateValue])[] {
  if (value === null) return [];
  if (value instanceof GoMap)
    return [...value.entries].sort(([left], [right]) => (left < right ? -1 : 1));
  const items = itemsOf(value);
  if (items !== undefined) return items.map((item, index) => [BigInt(index), item] as const);
  if (typeof value === "bigint" && value <= 100_000n)
    return Array.from(
      { length: Number(value) },
      (_, index) => [BigInt(index), BigInt(index)] as const,
    );
  throw new TemplateError(`range can't iterate over ${printValue(value)}`);
}
