import {
  copyInResponse,
  errorResponse,
  type ResponseSummary,
  readyForQuery,
  summarizeResponse,
  type TransactionStatus,
} from './backend-messages.ts';
import type { Engine } from './engine.ts';
import {
  messageType,
  queryMessage,
  queryText,
  readBind,
  readParse,
  readTarget,
  syncMessage,
} from './frontend-messages.ts';
import { mayChangeSettings, readSettings } from './session-settings.ts';
import type { Statements } from './statements.ts';
import { WireFormatError } from './wire-framing.ts';

const maxCopyBytes = 256 * 1024 * 1024;
const copyFromStdin = /^\s*(?:--[^\n]*\n\s*|\/\*[\s\S]*?\*\/\s*)*copy\b[^;]*\bfrom\s+stdin\b/i;

/** A COPY FROM STDIN whose data is buffered, because the engine cannot wait for more within a call. */
interface PendingCopy {
  messages: Buffer[];
  bytes: number;
}

/**
 * Executes the messages of one connection in the shared session; the connection must own the session. Portals keep their names,
 * because they end with their transaction, before another connection owns the session.
 */
export class MessageExecutor {
  /** Set by statements that may have changed settings beyond their transaction. */
  settingsMayHaveChanged = false;
  readonly #engine: Engine;
  readonly #statements: Statements;
  readonly #send: (response: Buffer) => void;
  readonly #sqlOfStatements = new Map<string, string>();
  #transaction: TransactionStatus = 'I';
  #inSequence = false;
  #skipping = false;
  #settingsReset = false;
  #copy: PendingCopy | undefined;

  constructor(engine: Engine, statements: Statements, send: (response: Buffer) => void) {
    this.#engine = engine;
    this.#statements = statements;
    this.#send = send;
  }

  /** Whether another connection may take the session. */
  get idle(): boolean {
    return this.#transaction === 'I' && !this.#inSequence && this.#copy === undefined;
  }

  /** Executes one message. @throws WireFormatError for a message that no client may send; anything else when the engine broke */
  execute(message: Buffer): void {
    const type = messageType(message);
    if (this.#copy !== undefined) this.#bufferCopy(this.#copy, type, message);
    else if (type === 'S') this.#sync();
    else if (!'QPBDECHFdcfp'.includes(type)) throw new WireFormatError(`invalid frontend message type ${message[0]}`);
    // Skip the rest of a failed COPY, and of a failed sequence up to its Sync.
    else if (!'dcfp'.includes(type) && !this.#skipping) this.#dispatch(type, message);
  }

  /** Removes every trace of this connection from the session: transaction and statements. */
  dispose(): void {
    this.#copy = undefined;
    this.#skipping = false;
    if (!this.idle) {
      this.#engine.execute(syncMessage());
      this.#engine.execute(queryMessage('rollback'));
    }
    this.#inSequence = false;
    this.#transaction = 'I';
    this.#statements.dispose();
  }

  #dispatch(type: string, message: Buffer): void {
    if (type === 'Q') {
      this.#query(message);
      return;
    }
    this.#inSequence = true;
    if (type === 'P') this.#parse(message);
    else if (type === 'B') this.#bind(message);
    else if (type === 'D' || type === 'C') this.#describeOrClose(type, message);
    else this.#extended(message);
  }

  #query(message: Buffer): void {
    const sql = queryText(message);
    if (copyFromStdin.test(sql)) {
      this.#copy = { messages: [message], bytes: 0 };
      this.#send(copyInResponse(/\bbinary\b/i.test(sql.slice(sql.search(/\bstdin\b/i)))));
      return;
    }
    this.#statements.unnamedDropped();
    this.#finish(this.#engine.execute(message), sql);
  }

  #bufferCopy(copy: PendingCopy, type: string, message: Buffer): void {
    if (type === 'H' || type === 'S') return;
    copy.bytes += type === 'd' ? message.length : 0;
    if (copy.bytes <= maxCopyBytes) copy.messages.push(message);
    else copy.messages.length = 0;
    if (type === 'd') return;
    this.#copy = undefined;
    if (copy.messages.length > 0) this.#finishCopy(Buffer.concat(copy.messages));
    else this.#refuse('54000', `COPY of more than ${maxCopyBytes} bytes is too large for the embedded database`);
  }

  /** Executes the COPY; CopyInResponse was already sent. */
  #finishCopy(messages: Buffer): void {
    this.#statements.unnamedDropped();
    const response = this.#engine.execute(messages);
    const announced = response[0] === 0x47 ? 1 + response.readInt32BE(1) : 0;
    this.#finish(response.subarray(announced), '');
  }

  #parse(message: Buffer): void {
    const { statement, sql, renamed } = readParse(message);
    const sent = statement === '' ? message : renamed(this.#statements.sessionName(statement));
    const summary = this.#extended(sent);
    if (!summary.parsed) return;
    this.#statements.defined(statement, sent);
    this.#sqlOfStatements.set(statement, sql);
  }

  #bind(message: Buffer): void {
    const { statement, renamed } = readBind(message);
    if (!this.#restore(statement)) return;
    const sql = this.#sqlOfStatements.get(statement) ?? '';
    if (/^\s*(set|reset|discard)\b|set_config/i.test(sql)) this.settingsMayHaveChanged = true;
    this.#extended(statement === '' ? message : renamed(this.#statements.sessionName(statement)));
  }

  #describeOrClose(type: string, message: Buffer): void {
    const { kind, name, renamed } = readTarget(message);
    if (kind === 'S' && type === 'D' && !this.#restore(name)) return;
    const ofStatement = kind === 'S' && name !== '';
    this.#extended(ofStatement ? renamed(this.#statements.sessionName(name)) : message);
    if (kind === 'S' && type === 'C') this.#statements.closed(name);
  }

  #restore(statement: string): boolean {
    const failure = this.#statements.restore(statement);
    if (failure === undefined) return true;
    this.#skipping = true;
    this.#send(failure);
    return false;
  }

  #extended(message: Buffer): ResponseSummary {
    const response = this.#engine.execute(message);
    const summary = summarizeResponse(response);
    this.#skipping ||= summary.failed;
    this.#noteTags(summary, '');
    this.#send(response);
    return summary;
  }

  #sync(): void {
    this.#skipping = false;
    this.#finish(this.#engine.execute(syncMessage()), '');
  }

  #finish(response: Buffer, sql: string): void {
    const summary = summarizeResponse(response);
    if (summary.ready !== undefined) {
      this.#transaction = summary.ready;
      this.#inSequence = false;
    }
    this.#noteTags(summary, sql);
    if (this.#settingsReset && this.#transaction !== 'E') {
      this.#settingsReset = false;
      readSettings(this.#engine);
    }
    this.#send(response);
  }

  #noteTags(summary: ResponseSummary, sql: string): void {
    for (const tag of summary.commandTags) {
      if (tag === 'DEALLOCATE ALL' || tag === 'DISCARD ALL') this.#statements.allDeallocated();
      // RESET restores the engine's values instead of a server's.
      this.#settingsReset ||= tag === 'RESET' || tag === 'DISCARD ALL';
      this.settingsMayHaveChanged ||= mayChangeSettings(sql, tag);
    }
  }

  #refuse(code: string, message: string): void {
    if (this.#transaction === 'T') {
      this.#engine.execute(queryMessage('select 1/0'));
      this.#transaction = 'E';
    }
    this.#send(Buffer.concat([errorResponse('ERROR', code, message), readyForQuery(this.#transaction)]));
  }
}
