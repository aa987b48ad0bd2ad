import type { AttributeValue, SelectorRange } from './database.ts';

/** What an attribute, a comment or a list of labels belongs to; `id` is that of the file, with bit 31 for extended ids. */
export type Target = { of: 'database' } | { of: 'message'; id: number } | SignalTarget | { of: 'other' };

export interface SignalTarget {
  of: 'signal';
  id: number;
  signal: string;
}

/** Raw values as in the file, with their texts. */
export type Labels = [raw: string, label: string][];

export type AttributeScope = Target['of'];

export interface SignalStatement {
  kind: 'signal';
  line: number;
  name: string;
  /** `M`, `m3` or `m3M`; empty without multiplexing. */
  multiplexing: string;
  startBit: number;
  length: number;
  isBigEndian: boolean;
  isSigned: boolean;
  factor: string;
  offset: string;
  minimum: number;
  maximum: number;
  unit: string;
  receivers: string[];
}

/** A statement of a DBC file, before references between statements are followed. */
export type Statement =
  | { kind: 'version'; line: number; text: string }
  | { kind: 'nodes'; line: number; names: string[] }
  | { kind: 'message'; line: number; id: number; name: string; length: number; sender: string }
  /** Its signals are left out with it. */
  | { kind: 'unreadableMessage'; line: number }
  | SignalStatement
  | { kind: 'comment'; line: number; target: Target; text: string }
  | { kind: 'attributeDefinition'; line: number; name: string; scope: AttributeScope; values: string[] | undefined }
  | { kind: 'attributeDefault'; line: number; name: string; value: AttributeValue }
  | { kind: 'attribute'; line: number; name: string; target: Target; value: AttributeValue }
  | { kind: 'table'; line: number; name: string; labels: Labels }
  | { kind: 'labels'; line: number; target: SignalTarget; labels: Labels; table: string | undefined }
  | { kind: 'valueType'; line: number; target: SignalTarget; type: number }
  | { kind: 'selection'; line: number; target: SignalTarget; multiplexer: string; ranges: SelectorRange[] };

export type StatementOf<Kind extends Statement['kind']> = Extract<Statement, { kind: Kind }>;
