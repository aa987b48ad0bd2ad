import { summarizeResponse } from './backend-messages.ts';
import type { Engine } from './engine.ts';
import { closeStatementMessage, syncMessage } from './frontend-messages.ts';

/** Which connection's statement the session holds under a name; '' is the unnamed one, which all share. */
export type LoadedStatements = Map<string, Statements>;

const LONGEST_NAME_BYTES = 50;

/** The prepared statements of one connection, kept apart from others' of the same name. */
export class Statements {
  private readonly engine: Engine;
  private readonly loaded: LoadedStatements;
  private readonly connectionId: number;
  private readonly parseMessages = new Map<string, Buffer>();

  constructor(engine: Engine, loaded: LoadedStatements, connectionId: number) {
    this.engine = engine;
    this.loaded = loaded;
    this.connectionId = connectionId;
  }

  /** The name that the session knows the statement by. PostgreSQL itself cuts names at 63 bytes. */
  sessionName(name: string): string {
    if (name === '') return '';
    const cut = Buffer.from(name).subarray(0, LONGEST_NAME_BYTES).toString('utf8');
    return `${this.connectionId}:${cut}`;
  }

  /** Notes a statement that Parse has defined; `message` carries the session's name. */
  defined(name: string, message: Buffer): void {
    const sessionName = this.sessionName(name);
    this.parseMessages.set(sessionName, message);
    this.loaded.set(sessionName, this);
  }

  /**
   * Defines the statement again when another connection replaced it or deallocated everything.
   * Gives the database's answer when that failed.
   */
  restore(name: string): Buffer | undefined {
    const sessionName = this.sessionName(name);
    const message = this.parseMessages.get(sessionName);
    if (message === undefined || this.loaded.get(sessionName) === this) return undefined;
    const response = this.engine.execute(message);
    if (!summarizeResponse(response).parsed) return response;
    this.loaded.set(sessionName, this);
    return undefined;
  }

  /** A simple query drops the unnamed statement; its owner's client knows that, others' do not. */
  unnamedDropped(): void {
    this.loaded.delete('');
    this.parseMessages.delete('');
  }

  closed(name: string): void {
    this.parseMessages.delete(this.sessionName(name));
    this.loaded.delete(this.sessionName(name));
  }

  /** After this connection's DEALLOCATE ALL, which for the session meant everybody's. */
  allDeallocated(): void {
    this.parseMessages.clear();
    this.loaded.clear();
  }

  /** Removes this connection's statements from the session. */
  dispose(): void {
    const names = [...this.parseMessages.keys()].filter((name) => this.loaded.get(name) === this);
    for (const name of names) {
      this.engine.execute(closeStatementMessage(name));
      this.loaded.delete(name);
    }
    if (names.length > 0) this.engine.execute(syncMessage());
    this.parseMessages.clear();
  }
}
