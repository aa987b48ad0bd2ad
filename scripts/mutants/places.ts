import { createHash } from 'node:crypto';
import { parseAst } from 'vitest/node';

/** A change to a source file that should make a test fail. */
export interface Mutant {
  /** Stable while the line and the file name stay the same. */
  readonly id: string;
  readonly file: string;
  readonly kind: string;
  readonly line: number;
  /** First and last line of the enclosing declaration. */
  readonly declaration: readonly [first: number, last: number];
  readonly start: number;
  readonly end: number;
  readonly from: string;
  readonly to: string;
}

interface Change {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly to: string;
}

/** A node of the syntax tree (ESTree); its members depend on its type. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

const operators: Readonly<Record<string, readonly string[]>> = {
  ...{ '===': ['!=='], '!==': ['==='], '<': ['<=', '>'], '<=': ['<', '>='], '>': ['>=', '<'], '>=': ['>', '<='] },
  ...{ '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'], '&': ['|'], '|': ['&'], '<<': ['>>'], '>>': ['<<'] },
};

const isWord = (value: unknown): value is string => typeof value === 'string' && /^([A-Z_]{3,}|[a-z]{3,})$/.test(value);

const removableCalls = new Set(['where', 'filter', 'orderBy', 'sort', 'slice', 'trim', 'toLowerCase']);

/** Tells whether a node is an import, a type or a message for people. */
const isSkipped = (node: Node): boolean =>
  node.type === 'ImportDeclaration' ||
  (node.type.startsWith('TS') && !/^TS(As|NonNull|Satisfies)/.test(node.type)) ||
  (node.type === 'Property' && /^(description|summary|title|message)$/.test(String((node.key as Node).name)));

const sqlChanges: readonly (readonly [pattern: RegExp, kind: string, to: string])[] = [
  [/\bis null\b/g, 'sql-comparison', 'is not null'],
  [/\bis not null\b/g, 'sql-comparison', 'is null'],
  [/\bnot exists\b/g, 'sql-comparison', 'exists'],
  [/(?<!not )\bexists\b/g, 'sql-comparison', 'not exists'],
  [/(?<=\b(?:and|when|where) )not /g, 'sql-comparison', ''],
  [/(?<= )<(?= )/g, 'sql-comparison', '<='],
  [/(?<= )<=(?= )/g, 'sql-comparison', '<'],
  [/(?<= )>(?= )/g, 'sql-comparison', '>='],
  [/(?<= )>=(?= )/g, 'sql-comparison', '>'],
  [/(?<=\b(?:where|on|and|when) [\w.()]+ )=(?= )/g, 'sql-comparison', '<>'],
  [/\bor\b/g, 'sql-condition', 'and'],
  [/ desc\b/g, 'sql-order', ''],
  [/(?<=\border by [\w.]+)(?=\)| limit|\s*$)/g, 'sql-order', ' desc'],
  [/(?<=[<>=+*-] )\d+\b/g, 'sql-constant', '77'],
  [/(?<=')[A-Za-z_]{3,}(?=')(?<!infinity|epoch|microsecond|milliseconds)/g, 'sql-constant', 'x'],
];

const isSql = (text: string): boolean =>
  /\b(select|where|exists|order by|case when|coalesce|reading\.|and)\b/.test(text);

/** Returns the end of the SQL condition at an offset: where its parenthesis closes or the next clause starts. */
function endOfCondition(text: string, start: number): number {
  const next =
    /[()`]|\b(and|or|order|group|limit|returning|union|then|else|end|where|left|join|for|on|returning|offset)\b|--/g;
  next.lastIndex = start;
  for (let depth = 0, match = next.exec(text); match; match = next.exec(text)) {
    if (match[0] === '(') depth += 1;
    else if (match[0] === ')' && depth > 0) depth -= 1;
    else if (depth === 0) return match.index;
  }
  return text.length;
}

/** Yields the changes of SQL. @param text a template with blanked expressions, so that offsets stay the same */
function* changesOfSql(text: string, offset: number): Generator<Change> {
  for (const [pattern, kind, to] of sqlChanges) {
    for (const { 0: found, index } of text.matchAll(pattern)) {
      yield { kind, start: offset + index, end: offset + index + found.length, to };
    }
  }
  for (const { 0: word, index } of text.matchAll(/\band\b|\bwhere\b/g)) {
    const end = endOfCondition(text, index + word.length);
    const isBetween = /between [^()]*$/.test(text.slice(0, index)) && word === 'and';
    if (isBetween || (word === 'where' && !text.startsWith('and', end))) continue;
    const removed = word === 'and' ? [index, end] : [index + 5, end + 3];
    yield { kind: 'sql-condition', start: offset + (removed[0] ?? 0), end: offset + (removed[1] ?? 0), to: ' ' };
  }
}

interface Context {
  text(node: unknown): string;
  /** Words of the file, which replace each other. */
  readonly words: readonly string[];
}

const replace = ({ start, end }: Node, kind: string, ...texts: readonly string[]): Change[] =>
  texts.map((to) => ({ kind, start, end, to }));

function changesOfCondition({ test }: Node): Change[] {
  return isNode(test) ? replace(test, 'condition', 'true', 'false') : [];
}

function changesOfLiteral(node: Node, { words }: Context): Change[] {
  const { value, bigint } = node;
  if (typeof value === 'boolean') return replace(node, 'boolean', String(!value));
  if (typeof bigint === 'string') {
    const number = BigInt(bigint);
    return replace(node, 'number', `${number + 1n}n`, ...(number > 0n ? [`${number - 1n}n`] : []));
  }
  if (typeof value === 'number') {
    return replace(node, 'number', `${value + 1}`, ...(value > 0 ? [`${value - 1}`] : []));
  }
  const other = words[(words.indexOf(String(value)) + 1) % words.length];
  return isWord(value) && other !== undefined && other !== value ? replace(node, 'word', `'${other}'`) : [];
}

/** Functions that list the changes of a node by its type, without those of its children. */
const changesByType: Readonly<Record<string, (node: Node, context: Context) => Iterable<Change>>> = {
  BinaryExpression: (node, { text }) =>
    (operators[String(node['operator'])] ?? []).flatMap((to) =>
      replace(node, 'comparison', `${text(node['left'])} ${to} ${text(node['right'])}`),
    ),
  LogicalExpression: (node, { text }) =>
    replace(node, 'condition', text(node['left']), ...(node['operator'] === '??' ? [] : [text(node['right'])])),
  IfStatement: changesOfCondition,
  ConditionalExpression: changesOfCondition,
  UnaryExpression: (node, { text }) =>
    ['!', '-'].includes(String(node['operator'])) ? replace(node, 'condition', text(node['argument'])) : [],
  ExpressionStatement: (node, { text }) =>
    /^(await )?(log|logger|super)\b/.test(text(node)) ? [] : replace(node, 'statement', ';'),
  CallExpression: (node, { text }) => {
    const { object, property } = node['callee'] as Node;
    return removableCalls.has(text(property)) ? replace(node, 'call', text(object)) : [];
  },
  Literal: changesOfLiteral,
  TemplateLiteral: (node, { text }) => {
    const blanked = (node['expressions'] as Node[]).reduce(
      (all, one) => all.replace(text(one), (found) => '¤'.repeat(found.length)),
      text(node),
    );
    return isSql(blanked) ? changesOfSql(blanked, node.start) : [];
  },
};

/** Yields a node and its descendants, without skipped ones. */
function* walk(node: Node): Generator<Node> {
  if (isSkipped(node)) return;
  yield node;
  for (const member of Object.values(node).flat()) if (isNode(member)) yield* walk(member);
}

/** Finds every mutant of a file. @param within limits them to matching lines and their neighbours */
export function findMutants(file: string, source: string, within?: RegExp): Mutant[] {
  const program = parseAst(source, { lang: 'ts' }) as unknown as Node;
  const declarations = (program.body as Node[]).map((node) => ({ node, nodes: [...walk(node)] }));
  const literals = declarations.flatMap(({ nodes }) => nodes.filter(({ type }) => type === 'Literal'));
  const words = [...new Set(literals.map(({ value }) => value))].filter(isWord);
  const lines = source.split('\n');
  const lineOf = (offset: number): number => source.slice(0, offset).split('\n').length;
  const text = (node: unknown): string => (isNode(node) ? source.slice(node.start, node.end) : '');
  const counts = new Map<string, number>();
  return declarations
    .flatMap(({ node, nodes }) => {
      const declaration = [lineOf(node.start), lineOf(node.end)] as const;
      const changes = nodes.flatMap((one) => [...(changesByType[one.type]?.(one, { text, words }) ?? [])]);
      return changes.map((change) => ({ ...change, declaration }));
    })
    .map((change) => {
      const line = lineOf(change.start);
      const from = source.slice(change.start, change.end);
      const name = [file, lines[line - 1]?.trim(), change.kind, from, change.to].join('\n');
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const id = createHash('sha256')
        .update(`${name}\n${counts.get(name)}`)
        .digest('hex')
        .slice(0, 10);
      return { ...change, id, file, line, from };
    })
    .filter(({ from, to }) => from !== to)
    .filter(({ line }) => !within || lines.slice(line - 2, line + 1).some((text) => within.test(text)));
}
