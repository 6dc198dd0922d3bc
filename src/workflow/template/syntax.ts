/** Refuses what liquidjs reads over in silence: words behind a value, filters where none is applied, half-written expressions. */
import { Tokenizer, TypeGuards, type FilteredValueToken, type Token, type TopLevelToken } from "liquidjs";

/** A mistake in a template, with the token that it is at. */
export class TemplateMistake extends Error {
  override readonly name = "TemplateMistake";
  readonly token: Token;

  constructor(message: string, token: Token) {
    super(message);
    this.token = token;
  }
}

interface TagLike extends Token {
  readonly name: string;
  readonly tokenizer: Tokenizer;
}

const LOOP_MODIFIERS: Readonly<Record<string, readonly string[]>> = {
  for: ["limit", "offset", "reversed"],
  tablerow: ["limit", "offset", "cols"],
};

/** Takes a template that has been parsed already; throws {@link TemplateMistake}. */
export function checkSyntax(source: string): void {
  checkTokens(new Tokenizer(source).readTopLevelTokens());
}

function checkTokens(tokens: readonly TopLevelToken[]): void {
  let comments = 0;
  for (const token of tokens) {
    if (TypeGuards.isTagToken(token)) {
      if (token.name === "comment") comments += 1;
      else if (token.name === "endcomment") comments -= 1;
      else if (comments === 0) checkTag(token);
    } else if (TypeGuards.isOutputToken(token) && comments === 0) {
      // The tokenizer of a value reads the whole template within the bounds of this one output.
      const [begin, end] = contentBounds(token);
      checkWholeValue(new Tokenizer(token.input, undefined, undefined, [begin, end]), token);
    }
  }
}

/** Without the braces and without the dashes that trim blanks. */
function contentBounds(token: Token): [number, number] {
  const inside = token.input.slice(token.begin + 2, token.end - 2);
  const left = inside.startsWith("-") ? 1 : 0;
  const right = inside.length > 1 && inside.endsWith("-") ? 1 : 0;
  return [token.begin + 2 + left, token.end - 2 - right];
}

function checkTag(tag: TagLike): void {
  const { name, tokenizer } = tag;
  switch (name) {
    case "if":
    case "unless":
    case "elsif":
    case "case":
      return checkWholeValue(tokenizer, tag);
    case "echo":
      return tokenizer.end() ? undefined : checkWholeValue(tokenizer, tag);
    case "assign":
      tokenizer.readIdentifier();
      tokenizer.skipBlank();
      tokenizer.advance();
      return checkWholeValue(tokenizer, tag);
    case "capture":
      return checkCapture(tokenizer, tag);
    case "when":
      return checkAlternatives(tokenizer, tag);
    case "cycle":
      return checkCycle(tokenizer, tag);
    case "for":
    case "tablerow":
      return checkLoop(tokenizer, tag);
    case "liquid":
      return checkTokens(tokenizer.readLiquidTagTokens());
    case "#":
    case "raw":
      return undefined;
    default:
      return checkEnd(tokenizer, tag);
  }
}

function checkEnd(tokenizer: Tokenizer, token: Token): void {
  tokenizer.skipBlank();
  if (tokenizer.end()) return;
  const rest = tokenizer.remaining().trim();
  throw new TemplateMistake(`${JSON.stringify(rest)} is not understood here; remove it`, token);
}

function checkWholeValue(tokenizer: Tokenizer, token: Token): void {
  checkExpression(tokenizer.readFilteredValue(), token);
  checkEnd(tokenizer, token);
}

/** Operands and operators must add up to one value: `a b`, `a ==` and `a.` don't. */
function checkExpression(value: FilteredValueToken, token: Token): void {
  let values = 0;
  for (const part of value.initial.postfix) {
    const isOperator = TypeGuards.isOperatorToken(part);
    const takes = isOperator ? operandCount(part) : 0;
    if (values < takes) values = Number.NaN;
    values += 1 - takes;
    if (!isOperator && part.getText().trimEnd().endsWith(".")) {
      throw new TemplateMistake(
        `${JSON.stringify(part.getText())} ends in a dot; name the field, or remove the dot`,
        token,
      );
    }
  }
  if (values !== 1) {
    throw new TemplateMistake(
      `${JSON.stringify(value.getText().trim())} is not one value; join its parts with an operator or a filter`,
      token,
    );
  }
  if (value.getText().trimEnd().endsWith("|")) {
    throw new TemplateMistake("a filter's name is missing after |; write it, or remove the |", token);
  }
}

function operandCount(operator: Token): number {
  return operator.getText() === "not" ? 1 : 2;
}

function checkCapture(tokenizer: Tokenizer, token: Token): void {
  if (tokenizer.readIdentifier().size() === 0) tokenizer.readQuoted();
  checkEnd(tokenizer, token);
}

/** `when a, b or c`. */
function checkAlternatives(tokenizer: Tokenizer, token: Token): void {
  for (;;) {
    tokenizer.readValueOrThrow();
    tokenizer.skipBlank();
    if (tokenizer.peek() === ",") tokenizer.advance();
    else if (/^or\b/.test(tokenizer.remaining())) tokenizer.advance("or".length);
    else return checkEnd(tokenizer, token);
  }
}

/** `cycle group: a, b` or `cycle a, b`. */
function checkCycle(tokenizer: Tokenizer, token: Token): void {
  const begin = tokenizer.p;
  tokenizer.readValue();
  tokenizer.skipBlank();
  if (tokenizer.peek() === ":") tokenizer.advance();
  else tokenizer.p = begin;
  for (;;) {
    checkExpression(tokenizer.readFilteredValue(), token);
    tokenizer.skipBlank();
    if (tokenizer.peek() !== ",") return checkEnd(tokenizer, token);
    tokenizer.advance();
  }
}

/** `for x in list limit: 2 offset: 1 reversed`. A filter behind the list would be ignored. */
function checkLoop(tokenizer: Tokenizer, tag: TagLike): void {
  const allowed = LOOP_MODIFIERS[tag.name] ?? [];
  tokenizer.readIdentifier();
  tokenizer.readIdentifier();
  tokenizer.readValue();
  for (;;) {
    tokenizer.skipBlank();
    if (tokenizer.peek() === "|") {
      throw new TemplateMistake(
        `a filter in a ${tag.name} tag has no effect; assign the filtered list to a name first`,
        tag,
      );
    }
    if (tokenizer.peek() === ",") tokenizer.advance();
    tokenizer.skipBlank();
    const start = tokenizer.p;
    const name = tokenizer.readIdentifier().getText();
    if (!allowed.includes(name)) {
      tokenizer.p = start;
      return checkEnd(tokenizer, tag);
    }
    tokenizer.skipBlank();
    if (tokenizer.peek() !== ":") continue;
    tokenizer.advance();
    tokenizer.readValueOrThrow();
  }
}
