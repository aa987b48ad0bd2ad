import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  authenticationOk,
  backendKeyData,
  errorResponse,
  negotiateProtocolVersion,
  parameterStatus,
  readyForQuery,
} from './backend-messages.ts';
import type { Engine } from './engine.ts';
import { messageType, readStartupPacket, terminateMessage } from './frontend-messages.ts';
import { MessageExecutor } from './message-executor.ts';
import type { Session, SessionClient, TurnResult } from './session.ts';
import { SERVER_SETTINGS, type SettingValues, startupSettings } from './session-settings.ts';
import { type LoadedStatements, Statements } from './statements.ts';
import { WireFormatError, WireFramer } from './wire-framing.ts';

/** Messages queued above this stop the reading of the socket, and unread answers the executing. */
const QUEUED_BYTES = 1024 * 1024;
const DATABASE = 'postgres';

/** What all connections share. */
export interface ConnectionContext {
  engine: Engine;
  session: Session;
  loaded: LoadedStatements;
  /** Reported to every client after it logged in. */
  serverParameters: ReadonlyMap<string, string>;
}

/** One client of the embedded database: cuts its bytes into messages and has them executed in its turns. */
export class Connection implements SessionClient {
  settings: SettingValues = SERVER_SETTINGS;
  private readonly id: number;
  private readonly socket: Socket;
  private readonly context: ConnectionContext;
  private readonly framer = new WireFramer();
  private readonly executor: MessageExecutor;
  private inbox: Buffer[] = [];
  private inboxBytes = 0;
  private started = false;
  private ending = false;
  private disposed = false;

  constructor(id: number, socket: Socket, context: ConnectionContext) {
    this.id = id;
    this.socket = socket;
    this.context = context;
    const statements = new Statements(context.engine, context.loaded, id);
    this.executor = new MessageExecutor(context.engine, statements, (response) => this.send(response));
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('drain', () => this.requestTurn());
    // What a client managed to send is executed before its end, as a server would; a reset is followed by `close`.
    socket.on('error', () => undefined);
    socket.on('end', () => this.finish());
    socket.on('close', () => this.finish());
  }

  get settingsMayHaveChanged(): boolean {
    return this.executor.settingsMayHaveChanged;
  }

  set settingsMayHaveChanged(value: boolean) {
    this.executor.settingsMayHaveChanged = value;
  }

  hasWork(): boolean {
    return this.inbox.length > 0 && !this.disposed && (this.ending || this.socket.writableLength < QUEUED_BYTES);
  }

  takeTurn(): TurnResult {
    do {
      const message = this.inbox.shift();
      if (message === undefined) break;
      this.inboxBytes -= message.length;
      this.executeMessage(message);
    } while (!this.disposed && !this.executor.idle && this.hasWork());
    if (this.inboxBytes < QUEUED_BYTES && this.socket.isPaused()) this.socket.resume();
    return this.disposed || this.executor.idle ? 'idle' : 'held';
  }

  end(code: string, message: string): void {
    this.send(errorResponse('FATAL', code, message));
    this.inbox = [];
    this.inboxBytes = 0;
    this.finish();
  }

  private executeMessage(message: Buffer): void {
    try {
      if (messageType(message) === 'X') this.dispose();
      else this.executor.execute(message);
    } catch (error) {
      if (!(error instanceof WireFormatError)) throw error;
      this.end('08P01', error.message);
    }
  }

  private dispose(): void {
    this.disposed = true;
    this.inbox = [];
    this.executor.dispose();
    this.socket.destroySoon();
  }

  private receive(chunk: Buffer): void {
    if (this.ending) return;
    this.framer.push(chunk);
    try {
      while (!this.started && !this.ending && this.readStartup());
      while (this.started && !this.ending && this.readMessage());
    } catch (error) {
      if (!(error instanceof WireFormatError)) throw error;
      this.end('08P01', error.message);
    }
    if (this.inboxBytes >= QUEUED_BYTES) this.socket.pause();
    this.requestTurn();
  }

  private requestTurn(): void {
    if (this.hasWork()) this.context.session.request(this);
  }

  private readMessage(): boolean {
    const message = this.framer.nextMessage();
    if (message === undefined) return false;
    this.inbox.push(message);
    this.inboxBytes += message.length;
    return true;
  }

  private readStartup(): boolean {
    const packet = this.framer.nextStartupPacket();
    if (packet === undefined) return false;
    const startup = readStartupPacket(packet);
    if (startup.kind === 'encryption') this.send(Buffer.from('N'));
    else if (startup.kind === 'startup') this.logIn(startup.minor, startup.parameters);
    else if (startup.kind === 'cancel') this.finish();
    else this.end('0A000', `unsupported frontend protocol ${startup.major}.${startup.minor}: server supports 3.0`);
    return true;
  }

  private logIn(minor: number, parameters: ReadonlyMap<string, string>): void {
    const refusal = refuseLogIn(parameters);
    if (refusal !== undefined) {
      this.end(refusal.code, refusal.message);
      return;
    }
    this.settings = startupSettings(parameters);
    this.started = true;
    const options = [...parameters.keys()].filter((name) => name.startsWith('_pq_.'));
    const reported = new Map(this.context.serverParameters);
    reported.set('application_name', this.settings.get('application_name') ?? '');
    this.send(
      Buffer.concat([
        ...(minor > 0 || options.length > 0 ? [negotiateProtocolVersion(options)] : []),
        authenticationOk(),
        ...[...reported].map(([name, value]) => parameterStatus(name, value)),
        backendKeyData(this.id, randomInt(2 ** 31 - 1)),
        readyForQuery('I'),
      ]),
    );
  }

  /** No further input; the session is cleaned up in a turn, after what has already arrived. */
  private finish(): void {
    if (this.ending || this.disposed) return;
    this.ending = true;
    this.inbox.push(terminateMessage());
    this.inboxBytes += 5;
    this.context.session.request(this);
  }

  private send(response: Buffer): void {
    if (response.length > 0 && this.socket.writable) this.socket.write(response);
  }
}

function refuseLogIn(parameters: ReadonlyMap<string, string>): { code: string; message: string } | undefined {
  const database = parameters.get('database') ?? parameters.get('user');
  if (database !== DATABASE) {
    return {
      code: '3D000',
      message: `database "${database}" does not exist, the embedded server has only "${DATABASE}"`,
    };
  }
  if (parameters.has('replication')) return { code: '0A000', message: 'the embedded database does not replicate' };
  return undefined;
}
