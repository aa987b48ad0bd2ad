import type { Engine } from './engine.ts';
import { exchangeSettings, readSettings, type SettingValues, serverSettings } from './session-settings.ts';

/** The outcome of a turn: the session is free, or its owner still holds it. */
export type TurnResult = 'idle' | 'held';

/** A connection as the session sees it. */
export interface SessionClient {
  settings: SettingValues;
  settingsMayHaveChanged: boolean;
  /** Whether a turn would do something now. */
  hasWork(): boolean;
  /** Executes received messages, at most until the session is idle. */
  takeTurn(): TurnResult;
  /** Ends the connection with a FATAL error; its clean-up needs a turn. */
  end(code: string, message: string): void;
}

export interface SessionOptions {
  /** A transaction idle for longer ends when others wait, ms. */
  idleTransactionTimeoutMs: number;
  /** Called once when the engine broke; nothing can be executed after it. */
  onBroken(error: unknown): void;
}

const checkpointAfterBytes = 32 * 1024 * 1024;

/**
 * Shares the database's single session among connections, first come, first served. A connection holds it until ReadyForQuery
 * reports idle, so transactions and sequences of the extended protocol never interleave.
 */
export class Session {
  readonly #waiting: SessionClient[] = [];
  readonly #engine: Engine;
  readonly #options: SessionOptions;
  #owner: SessionClient | undefined;
  #previous: SessionClient | undefined;
  #current: SettingValues = serverSettings;
  #scheduled = false;
  #closed = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(engine: Engine, options: SessionOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Queues the connection for a turn, unless it already waits or owns the session. */
  request(client: SessionClient): void {
    if (this.#owner !== client && !this.#waiting.includes(client)) this.#waiting.push(client);
    this.#schedule();
  }

  /** Stops giving turns. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => this.#runTurn());
  }

  #runTurn(): void {
    this.#scheduled = false;
    if (this.#closed) return;
    try {
      this.#owner ??= this.#admitNext();
      if (this.#owner?.hasWork()) {
        this.#stopIdleTimer();
        this.#finishTurn(this.#owner, this.#owner.takeTurn());
      }
      this.#watchIdleOwner();
    } catch (error) {
      this.close();
      this.#options.onBroken(error);
    }
  }

  #finishTurn(client: SessionClient, result: TurnResult): void {
    if (result === 'idle') {
      this.#owner = undefined;
      this.#previous = client;
      if (client.hasWork()) this.#waiting.push(client);
      if (this.#engine.logBytes() > checkpointAfterBytes) this.#runMaintenance(() => this.#engine.checkpoint());
    }
    if (this.#waiting.length > 0 || client.hasWork()) this.#schedule();
  }

  /** Runs a task between turns, with the server's settings. */
  #runMaintenance(task: () => void): void {
    this.#keepSettings();
    exchangeSettings(this.#engine, this.#current, serverSettings);
    this.#current = serverSettings;
    task();
  }

  #admitNext(): SessionClient | undefined {
    let client = this.#waiting.shift();
    while (client !== undefined && !client.hasWork()) client = this.#waiting.shift();
    if (client === undefined || client === this.#previous) return client;
    this.#keepSettings();
    if (client.settings === this.#current) return client;
    try {
      exchangeSettings(this.#engine, this.#current, client.settings);
      this.#current = client.settings;
    } catch (error) {
      this.#current = serverSettings;
      client.settings = serverSettings;
      client.end('22023', error instanceof Error ? error.message : String(error));
    }
    return client;
  }

  #keepSettings(): void {
    const client = this.#previous;
    this.#previous = undefined;
    if (client === undefined || !client.settingsMayHaveChanged) return;
    client.settings = readSettings(this.#engine);
    client.settingsMayHaveChanged = false;
    this.#current = client.settings;
  }

  #stopIdleTimer(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
  }

  /** Applies idle_in_transaction_session_timeout, but only while other connections wait. */
  #watchIdleOwner(): void {
    const owner = this.#owner;
    if (owner === undefined || owner.hasWork()) {
      this.#stopIdleTimer();
      return;
    }
    this.#idleTimer ??= setTimeout(() => {
      this.#idleTimer = undefined;
      if (this.#owner !== owner || owner.hasWork()) return;
      if (this.#waiting.length === 0) this.#watchIdleOwner();
      else owner.end('25P03', 'terminating connection due to idle-in-transaction timeout');
    }, this.#options.idleTransactionTimeoutMs);
  }
}
