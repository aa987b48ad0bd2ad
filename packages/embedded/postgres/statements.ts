import { summarizeResponse } from './backend-messages.ts';
import type { Engine } from './engine.ts';
import { closeStatementMessage, syncMessage } from './frontend-messages.ts';

/** The connection whose statement the session holds under each name; '' is the unnamed one, which all connections share. */
export type LoadedStatements = Map<string, Statements>;

const maxNameBytes = 50;

/** The prepared statements of one connection, separate from those of others with the same name. */
export class Statements {
  readonly #engine: Engine;
  readonly #loaded: LoadedStatements;
  readonly #connectionId: number;
  readonly #parseMessages = new Map<string, Buffer>();

  constructor(engine: Engine, loaded: LoadedStatements, connectionId: number) {
    this.#engine = engine;
    this.#loaded = loaded;
    this.#connectionId = connectionId;
  }

  /** The name of the statement in the session. PostgreSQL truncates names to 63 bytes. */
  sessionName(name: string): string {
    if (name === '') return '';
    const cut = Buffer.from(name).subarray(0, maxNameBytes).toString('utf8');
    return `${this.#connectionId}:${cut}`;
  }

  /** Records a statement that Parse has defined; `message` carries the session's name. */
  defined(name: string, message: Buffer): void {
    const sessionName = this.sessionName(name);
    this.#parseMessages.set(sessionName, message);
    this.#loaded.set(sessionName, this);
  }

  /**
   * Defines the statement again when another connection replaced it or deallocated everything.
   * @returns the database's response when that failed
   */
  restore(name: string): Buffer | undefined {
    const sessionName = this.sessionName(name);
    const message = this.#parseMessages.get(sessionName);
    if (message === undefined || this.#loaded.get(sessionName) === this) return undefined;
    const response = this.#engine.execute(message);
    if (!summarizeResponse(response).parsed) return response;
    this.#loaded.set(sessionName, this);
    return undefined;
  }

  /** Records that a simple query dropped the unnamed statement, which its owner expects and other connections do not. */
  unnamedDropped(): void {
    this.#loaded.delete('');
    this.#parseMessages.delete('');
  }

  closed(name: string): void {
    this.#parseMessages.delete(this.sessionName(name));
    this.#loaded.delete(this.sessionName(name));
  }

  /** Records DEALLOCATE ALL, which removed the statements of all connections from the session. */
  allDeallocated(): void {
    this.#parseMessages.clear();
    this.#loaded.clear();
  }

  /** Removes this connection's statements from the session. */
  dispose(): void {
    const names = [...this.#parseMessages.keys()].filter((name) => this.#loaded.get(name) === this);
    for (const name of names) {
      this.#engine.execute(closeStatementMessage(name));
      this.#loaded.delete(name);
    }
    if (names.length > 0) this.#engine.execute(syncMessage());
    this.#parseMessages.clear();
  }
}
