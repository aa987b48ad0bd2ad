import type { Engine } from './engine.ts';
import { exchangeSettings, readSettings, SERVER_SETTINGS, type SettingValues } from './session-settings.ts';

/** What one turn left behind: the session may go to another, or its owner still needs it. */
export type TurnResult = 'idle' | 'held';

/** A connection as the session sees it. */
export interface SessionClient {
  settings: SettingValues;
  settingsMayHaveChanged: boolean;
  /** Whether a turn would do something now. */
  hasWork(): boolean;
  /** Executes what has arrived, at most until the session is idle. */
  takeTurn(): TurnResult;
  /** Ends the connection from our side with a FATAL error; its clean-up is work for a turn. */
  end(code: string, message: string): void;
}

export interface SessionOptions {
  /** A transaction idle for longer ends when others wait, ms. */
  idleTransactionTimeoutMs: number;
  /** Called once when the engine broke; nothing can be executed after it. */
  onBroken(error: unknown): void;
}

const CHECKPOINT_AFTER_BYTES = 32 * 1024 * 1024;

/**
 * Hands the database's one session from connection to connection, first come, first served. Who has it keeps it until
 * ReadyForQuery says idle, so transactions and sequences of the extended protocol never interleave.
 */
export class Session {
  private readonly waiting: SessionClient[] = [];
  private readonly engine: Engine;
  private readonly options: SessionOptions;
  private owner: SessionClient | undefined;
  private previous: SessionClient | undefined;
  private current: SettingValues = SERVER_SETTINGS;
  private scheduled = false;
  private closed = false;
  private idleTimer: NodeJS.Timeout | undefined;

  constructor(engine: Engine, options: SessionOptions) {
    this.engine = engine;
    this.options = options;
  }

  /** Queues the connection for a turn; asking again while it waits or owns the session does no harm. */
  request(client: SessionClient): void {
    if (this.owner !== client && !this.waiting.includes(client)) this.waiting.push(client);
    this.schedule();
  }

  /** No further turns. */
  close(): void {
    this.closed = true;
    clearTimeout(this.idleTimer);
  }

  private schedule(): void {
    if (this.scheduled || this.closed) return;
    this.scheduled = true;
    setImmediate(() => this.runTurn());
  }

  private runTurn(): void {
    this.scheduled = false;
    if (this.closed) return;
    try {
      this.owner ??= this.admitNext();
      if (this.owner?.hasWork()) {
        this.stopIdleTimer();
        this.finishTurn(this.owner, this.owner.takeTurn());
      }
      this.watchIdleOwner();
    } catch (error) {
      this.close();
      this.options.onBroken(error);
    }
  }

  private finishTurn(client: SessionClient, result: TurnResult): void {
    if (result === 'idle') {
      this.owner = undefined;
      this.previous = client;
      if (client.hasWork()) this.waiting.push(client);
      if (this.engine.logBytes() > CHECKPOINT_AFTER_BYTES) this.runMaintenance(() => this.engine.checkpoint());
    }
    if (this.waiting.length > 0 || client.hasWork()) this.schedule();
  }

  /** Runs what needs the session without an owner, with the server's own settings. */
  private runMaintenance(task: () => void): void {
    this.keepSettings();
    exchangeSettings(this.engine, this.current, SERVER_SETTINGS);
    this.current = SERVER_SETTINGS;
    task();
  }

  private admitNext(): SessionClient | undefined {
    let client = this.waiting.shift();
    while (client !== undefined && !client.hasWork()) client = this.waiting.shift();
    if (client === undefined || client === this.previous) return client;
    this.keepSettings();
    if (client.settings === this.current) return client;
    try {
      exchangeSettings(this.engine, this.current, client.settings);
      this.current = client.settings;
    } catch (error) {
      this.current = SERVER_SETTINGS;
      client.settings = SERVER_SETTINGS;
      client.end('22023', error instanceof Error ? error.message : String(error));
    }
    return client;
  }

  private keepSettings(): void {
    const client = this.previous;
    this.previous = undefined;
    if (client === undefined || !client.settingsMayHaveChanged) return;
    client.settings = readSettings(this.engine);
    client.settingsMayHaveChanged = false;
    this.current = client.settings;
  }

  private stopIdleTimer(): void {
    clearTimeout(this.idleTimer);
    this.idleTimer = undefined;
  }

  /** Does what idle_in_transaction_session_timeout does, but only while somebody waits. */
  private watchIdleOwner(): void {
    const owner = this.owner;
    if (owner === undefined || owner.hasWork()) {
      this.stopIdleTimer();
      return;
    }
    this.idleTimer ??= setTimeout(() => {
      this.idleTimer = undefined;
      if (this.owner !== owner || owner.hasWork()) return;
      if (this.waiting.length === 0) this.watchIdleOwner();
      else owner.end('25P03', 'terminating connection due to idle-in-transaction timeout');
    }, this.options.idleTransactionTimeoutMs);
  }
}
