import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  authenticationCleartextPassword,
  authenticationOk,
  backendKeyData,
  errorResponse,
  negotiateProtocolVersion,
  parameterStatus,
  readyForQuery,
} from './backend-messages.ts';
import type { Engine } from './engine.ts';
import { messageType, readStartupPacket, readText, terminateMessage } from './frontend-messages.ts';
import { MessageExecutor } from './message-executor.ts';
import type { Session, SessionClient, TurnResult } from './session.ts';
import { type SettingValues, serverSettings, startupSettings } from './session-settings.ts';
import { type LoadedStatements, Statements } from './statements.ts';
import { WireFormatError, WireFramer } from './wire-framing.ts';

/** Above this many queued bytes the socket is not read; above this many unsent bytes nothing is executed. */
const queuedBytes = 1024 * 1024;
const databaseName = 'postgres';
const maxPasswordMessageBytes = 1000;

/** State that all connections share. */
export interface ConnectionContext {
  engine: Engine;
  session: Session;
  loaded: LoadedStatements;
  password: string;
  /** Reported to each client at login. */
  serverParameters: ReadonlyMap<string, string>;
}

/** One client of the embedded database: splits its byte stream into messages and executes them in its turns. */
export class Connection implements SessionClient {
  settings: SettingValues = serverSettings;
  readonly #id: number;
  readonly #socket: Socket;
  readonly #context: ConnectionContext;
  readonly #framer = new WireFramer();
  readonly #executor: MessageExecutor;
  #inbox: Buffer[] = [];
  #inboxBytes = 0;
  #started = false;
  /** The startup parameters of a client that has not sent its password yet. */
  #login: ReadonlyMap<string, string> | undefined;
  #ending = false;
  #disposed = false;

  constructor(id: number, socket: Socket, context: ConnectionContext) {
    this.#id = id;
    this.#socket = socket;
    this.#context = context;
    const statements = new Statements(context.engine, context.loaded, id);
    this.#executor = new MessageExecutor(context.engine, statements, (response) => this.#send(response));
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('drain', () => this.#requestTurn());
    // Received messages are executed even after the client has gone, as on a server. A reset is followed by `close`.
    socket.on('error', () => undefined);
    socket.on('end', () => this.#finish());
    socket.on('close', () => this.#finish());
  }

  get settingsMayHaveChanged(): boolean {
    return this.#executor.settingsMayHaveChanged;
  }

  set settingsMayHaveChanged(value: boolean) {
    this.#executor.settingsMayHaveChanged = value;
  }

  hasWork(): boolean {
    return this.#inbox.length > 0 && !this.#disposed && (this.#ending || this.#socket.writableLength < queuedBytes);
  }

  takeTurn(): TurnResult {
    do {
      const message = this.#inbox.shift();
      if (message === undefined) break;
      this.#inboxBytes -= message.length;
      this.#executeMessage(message);
    } while (!this.#disposed && !this.#executor.idle && this.hasWork());
    if (this.#inboxBytes < queuedBytes && this.#socket.isPaused()) this.#socket.resume();
    return this.#disposed || this.#executor.idle ? 'idle' : 'held';
  }

  end(code: string, message: string): void {
    this.#send(errorResponse('FATAL', code, message));
    this.#inbox = [];
    this.#inboxBytes = 0;
    this.#finish();
  }

  #executeMessage(message: Buffer): void {
    try {
      if (messageType(message) === 'X') this.#dispose();
      else this.#executor.execute(message);
    } catch (error) {
      if (!(error instanceof WireFormatError)) throw error;
      this.end('08P01', error.message);
    }
  }

  #dispose(): void {
    this.#disposed = true;
    this.#inbox = [];
    this.#executor.dispose();
    this.#socket.destroySoon();
  }

  #receive(chunk: Buffer): void {
    if (this.#ending) return;
    this.#framer.push(chunk);
    try {
      while (!this.#started && !this.#ending && this.#readStartup());
      while (this.#started && !this.#ending && this.#readMessage());
    } catch (error) {
      if (!(error instanceof WireFormatError)) throw error;
      this.end('08P01', error.message);
    }
    if (this.#inboxBytes >= queuedBytes) this.#socket.pause();
    this.#requestTurn();
  }

  #requestTurn(): void {
    if (this.hasWork()) this.#context.session.request(this);
  }

  #readMessage(): boolean {
    const message = this.#framer.nextMessage();
    if (message === undefined) return false;
    this.#inbox.push(message);
    this.#inboxBytes += message.length;
    return true;
  }

  #readStartup(): boolean {
    if (this.#login !== undefined) return this.#readPassword(this.#login);
    const packet = this.#framer.nextStartupPacket();
    if (packet === undefined) return false;
    const startup = readStartupPacket(packet);
    if (startup.kind === 'encryption') this.#send(Buffer.from('N'));
    else if (startup.kind === 'startup') {
      this.#login = startup.parameters;
      const options = [...startup.parameters.keys()].filter((name) => name.startsWith('_pq_.'));
      if (startup.minor > 0 || options.length > 0) this.#send(negotiateProtocolVersion(options));
      this.#send(authenticationCleartextPassword());
    } else if (startup.kind === 'cancel') this.#finish();
    else this.end('0A000', `unsupported frontend protocol ${startup.version}: server supports 3.0`);
    return true;
  }

  #readPassword(parameters: ReadonlyMap<string, string>): boolean {
    const message = this.#framer.nextMessage(maxPasswordMessageBytes);
    if (message === undefined) return false;
    const user = parameters.get('user') ?? '';
    const database = parameters.get('database') ?? user;
    if (messageType(message) !== 'p') this.end('08P01', 'expected a password message');
    else if (!isSame(readText(message, 5).text, this.#context.password))
      this.end('28P01', `password authentication failed for user "${user}"`);
    else if (database !== databaseName)
      this.end('3D000', `database "${database}" does not exist, the embedded server has only "${databaseName}"`);
    else if (parameters.has('replication')) this.end('0A000', 'the embedded database does not replicate');
    else this.#logIn(parameters);
    return true;
  }

  #logIn(parameters: ReadonlyMap<string, string>): void {
    this.settings = startupSettings(parameters);
    this.#started = true;
    const reported = new Map(this.#context.serverParameters);
    reported.set('application_name', this.settings.get('application_name') ?? '');
    this.#send(
      Buffer.concat([
        authenticationOk(),
        ...[...reported].map(([name, value]) => parameterStatus(name, value)),
        backendKeyData(this.#id, randomInt(2 ** 31 - 1)),
        readyForQuery('I'),
      ]),
    );
  }

  /** Stops reading; a last turn cleans up the session after the messages received so far. */
  #finish(): void {
    if (this.#ending || this.#disposed) return;
    this.#ending = true;
    this.#inbox.push(terminateMessage());
    this.#inboxBytes += 5;
    this.#context.session.request(this);
  }

  #send(response: Buffer): void {
    if (response.length > 0 && this.#socket.writable) this.#socket.write(response);
  }
}

/** Compares in constant time. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
