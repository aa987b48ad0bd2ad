import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { brokerKey, brokerOfSession, disconnectedKey, presenceKey } from '@odograph/contracts/presence';
import type { FailureReports } from '@odograph/runtime/background-failures';
import type { Gauge } from '@odograph/runtime/metrics';
import type { Redis } from '@odograph/runtime/redis';

const brokerKeyTtlMs = 10_000;
const refreshMs = 3000;
const writeTimeoutMs = 1000;
const fieldsPerCommand = 500;

/**
 * Removes each field that still has the given value, so that a session never removes its successor, and keeps the time in
 * the other hash.
 */
const removeIfEqual = `for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[1])
  end
end`;

/** The session of one device at a broker or a gateway, until its connection ends. */
export interface RegisteredSession {
  readonly deviceId: string;
  /** As in contracts/presence.ts, made by `nextSessionId`. */
  readonly sessionId: string;
  /** Calls `listener` once, when the connection has ended. */
  onClose(listener: () => void): void;
}

export interface SessionRegistryOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** Of this broker or gateway, unique among all of them. */
  readonly brokerId: string;
  readonly connectedDevices: Gauge;
  readonly failures: FailureReports<'sessions'>;
}

/**
 * Keeps the live sessions of this broker or gateway, in memory and in Redis (contracts/presence.ts). Devices connect and
 * disconnect while Redis is unavailable or refuses to write; the whole list is written again as soon as Redis accepts it.
 */
export class SessionRegistry<Session extends RegisteredSession> {
  readonly #options: SessionRegistryOptions;
  readonly #brokerKey: string;
  readonly #key: string;
  readonly #disconnectedKey: string;
  readonly #live = new Map<string, Session>();
  readonly #onReady = (): void => void this.#attempt(() => this.#writeAll());
  /** Sessions that began while others were being written: device id to session id. */
  #arrived = new Map<string, string>();
  #writing: Promise<unknown> = Promise.resolve();
  #nextWrite: Promise<void> | undefined;
  /** Whether a write failed since Redis last got the whole list. */
  #isStale = false;
  #connections = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
    this.#brokerKey = brokerKey(options.prefix, options.brokerId);
    this.#key = presenceKey(options.prefix);
    this.#disconnectedKey = disconnectedKey(options.prefix);
    options.connectedDevices.set(0);
  }

  get brokerId(): string {
    return this.#options.brokerId;
  }

  get sessions(): Iterable<Session> {
    return this.#live.values();
  }

  find(deviceId: string): Session | undefined {
    return this.#live.get(deviceId);
  }

  nextSessionId(): string {
    this.#connections += 1;
    return `${this.#options.brokerId} ${this.#connections}`;
  }

  /** Writes all sessions now if Redis is available, and at each reconnect. */
  async start(): Promise<void> {
    const { redis } = this.#options;
    redis.on('ready', this.#onReady);
    this.#timer = setInterval(() => void this.#attempt(() => this.#refresh()), refreshMs);
    if (redis.status === 'ready') await this.#attempt(() => this.#writeAll());
  }

  /** Adds a session until its connection closes; resolves when it is in Redis, or when that takes too long. */
  async add(session: Session): Promise<void> {
    this.#live.set(session.deviceId, session);
    this.#options.connectedDevices.set(this.#live.size);
    session.onClose(() => this.#delete(session));
    this.#arrived.set(session.deviceId, session.sessionId);
    this.#nextWrite ??= this.#writing.then(() => this.#writeArrived());
    await this.#nextWrite;
  }

  /** Removes this broker or gateway immediately instead of at the expiry of its key. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const { redis } = this.#options;
    redis.off('ready', this.#onReady);
    await this.#attempt(() => redis.del(this.#brokerKey));
  }

  #delete(session: Session): void {
    const { deviceId, sessionId } = session;
    if (this.#arrived.get(deviceId) === sessionId) this.#arrived.delete(deviceId);
    if (this.#live.get(deviceId) === session) this.#live.delete(deviceId);
    this.#options.connectedDevices.set(this.#live.size);
    void this.#attempt(() => this.#remove([deviceId, sessionId]));
  }

  /** Does nothing while Redis is unavailable: a reconnect writes all sessions. `#refresh` repairs a reported failure. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    if (this.#options.redis.status !== 'ready') return;
    try {
      await work();
    } catch (error) {
      this.#isStale = true;
      this.#options.failures.failed('sessions', error);
    }
  }

  /** Writes a reconnecting fleet in few commands, each while the one before is on its way to the disk. */
  async #writeArrived(): Promise<void> {
    await turn();
    const fields = [...this.#arrived].flat();
    this.#arrived.clear();
    this.#nextWrite = undefined;
    const written = this.#attempt(() => this.#set(fields));
    this.#writing = Promise.race([written, delay(writeTimeoutMs, undefined, { ref: false })]);
    await this.#writing;
  }

  async #refresh(): Promise<void> {
    const isAlive = await this.#options.redis.pexpire(this.#brokerKey, brokerKeyTtlMs);
    // Without its key, other brokers may have removed this one's sessions.
    if (isAlive === 0 || this.#isStale) await this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isStale = false;
    await this.#options.redis.set(this.#brokerKey, '1', 'PX', brokerKeyTtlMs);
    await this.#set([...this.#live.values()].flatMap(({ deviceId, sessionId }) => [deviceId, sessionId]));
    await this.#removeStale();
    if (!this.#isStale) this.#options.failures.succeeded('sessions');
  }

  async #set(fieldsAndValues: readonly string[]): Promise<void> {
    const writes: Promise<unknown>[] = [];
    for (let start = 0; start < fieldsAndValues.length; start += fieldsPerCommand) {
      writes.push(this.#options.redis.hset(this.#key, ...fieldsAndValues.slice(start, start + fieldsPerCommand)));
    }
    await Promise.all(writes);
  }

  /** Removes the sessions of stopped brokers, and those that ended here while Redis was unavailable. */
  async #removeStale(): Promise<void> {
    const { redis, prefix, brokerId } = this.#options;
    const fields = Object.entries(await redis.hgetall(this.#key));
    const brokers = [...new Set(fields.map(([, sessionId]) => brokerOfSession(sessionId)))];
    const alive = await Promise.all(brokers.map((broker) => redis.exists(brokerKey(prefix, broker))));
    const gone = new Set(brokers.filter((_broker, index) => alive[index] === 0));
    const stale = fields.filter(([deviceId, sessionId]) => {
      const broker = brokerOfSession(sessionId);
      return broker === brokerId ? this.#live.get(deviceId)?.sessionId !== sessionId : gone.has(broker);
    });
    for (let start = 0; start < stale.length; start += fieldsPerCommand) {
      await this.#remove(stale.slice(start, start + fieldsPerCommand).flat());
    }
  }

  async #remove(fieldsAndValues: string[]): Promise<void> {
    const keys = [this.#key, this.#disconnectedKey];
    await this.#options.redis.eval(removeIfEqual, keys.length, ...keys, Date.now(), ...fieldsAndValues);
  }
}
