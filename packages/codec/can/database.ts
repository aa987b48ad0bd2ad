import type { Decimal } from './decimal.ts';

/** A fault of a DBC file. The statement is left out; all others keep their effect. */
export interface DbcFault {
  /** Counted from 1. */
  line: number;
  message: string;
  /** The rest of the file must not be used: the statement could have changed the layout of any signal. */
  isFatal?: true;
}

export type AttributeValue = string | number;

export interface CanSignal {
  /** The long name where the file gives one (`SystemSignalLongSymbol`). */
  name: string;
  /** As in the file: the least significant bit of an Intel signal, the most significant bit of a Motorola signal. */
  startBit: number;
  /** In bits, 1 to 64. */
  length: number;
  isBigEndian: boolean;
  isSigned: boolean;
  type: 'integer' | 'float' | 'double';
  factor: Decimal;
  offset: Decimal;
  unit: string;
  isMultiplexer: boolean;
  /** Present if the raw value of `multiplexer` lies in one of the ranges, whose ends belong to them. */
  selection: { multiplexer: CanSignal; ranges: SelectorRange[] } | undefined;
  /** Texts of raw values; a key is a bigint where a double cannot hold it. */
  labels: Map<number | bigint, string>;
  attributes: Map<string, AttributeValue>;
  /** Of its statement in the file. */
  line: number;
}

export interface SelectorRange {
  from: number;
  to: number;
}

export interface CanMessage {
  /** The long name where the file gives one (`SystemMessageLongSymbol`). */
  name: string;
  /** 11 bits, or 29 bits for an extended id. */
  id: number;
  isExtended: boolean;
  /** In bytes: up to 64, or 1785 for a J1939 message in several packets. */
  length: number;
  /** Parameter group number of a J1939 message, by which it is matched; undefined: matched by its id. */
  pgn: number | undefined;
  signals: CanSignal[];
  attributes: Map<string, AttributeValue>;
  line: number;
}

export interface CanDatabase {
  messages: CanMessage[];
  attributes: Map<string, AttributeValue>;
}

/**
 * Returns the parameter group number of a 29-bit id: without priority and source address, and in the PDU1 format (PDU
 * format below 240) without the destination address (SAE J1939-21, "Parameter group number").
 */
export function pgnOf(id: number): number {
  const pgn = (id >>> 8) & 0x3ffff;
  return (pgn & 0xff00) < 0xf000 ? pgn & 0x3ff00 : pgn;
}
