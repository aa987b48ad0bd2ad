/** What a child tells the process that started it. */
export type ChildMessage =
  | { kind: 'ready'; port: number; durable: boolean }
  | { kind: 'failed'; message: string; portTaken: boolean };

/** What a child is told; it also ends, at once, when the channel closes. */
export type ParentMessage = { kind: 'stop' };

/** What a child is started with. */
export interface ChildArguments {
  dataDirectory: string;
  /** 0 takes a free port. */
  port: number;
  /** The longest a transaction may idle while others wait, ms. */
  idleTransactionTimeoutMs: number;
}
