import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import {
  brokerKey,
  brokerOfSession,
  disconnectedKey,
  presenceKey,
  type SessionMessage,
  sessionNumberKey,
} from '@odograph/contracts/presence';
import type { FailureReports } from '@odograph/runtime/background-failures';
import type { Gauge } from '@odograph/runtime/metrics';
import type { Redis } from '@odograph/runtime/redis';
import { receiveChannel } from './presence.ts';

const brokerKeyTtlMs = 10_000;
const refreshMs = 3000;
const writeTimeoutMs = 1000;
const fieldsPerCommand = 500;
const minSessionsEndedPerSecond = 1000;

/**
 * Removes the entry of each session unless a newer session has replaced it, and stores the time in the other hash. Entries
 * of another broker stay if that broker is live again, because it has rewritten them.
 */
const removeUnlessNewer = `for i = 4, #ARGV, 2 do
  local broker, number = string.match(redis.call('HGET', KEYS[1], ARGV[i]) or '', '^(%S+) (%d+)$')
  local own, last = string.match(ARGV[i + 1], '^(%S+) (%d+)$')
  local isRemovable = broker == own and tonumber(number) <= tonumber(last)
  if isRemovable and (broker == ARGV[2] or redis.call('EXISTS', ARGV[3] .. broker) == 0) then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[1])
  end
end`;

/**
 * Takes numbers from the counter and returns the last one. A lost counter starts at the current time; a counter that has
 * lost its latest writes is raised to the highest known number. Thus numbers of live sessions are never reused.
 */
const takeNumbers = `local value = redis.call('GET', KEYS[1])
local last = math.max(tonumber(value or ARGV[3]), tonumber(ARGV[2])) + tonumber(ARGV[1])
local text = string.format('%.0f', last)
if text ~= value then redis.call('SET', KEYS[1], text) end
return text`;

/**
 * Writes each session that is the newest of its device and notifies the broker of the previous one. Returns the devices
 * that have a newer session at another live broker. Numbers stay text because Lua would round them when formatting.
 */
const writeIfNewest = `local superseded = {}
for i = 3, #ARGV, 2 do
  local device, number = ARGV[i], ARGV[i + 1]
  local broker, other = string.match(redis.call('HGET', KEYS[1], device) or '', '^(%S+) (%d+)$')
  local isNewest = broker == ARGV[1] or not broker or tonumber(other) < tonumber(number)
  if isNewest or redis.call('EXISTS', ARGV[2] .. broker) == 0 then
    redis.call('HSET', KEYS[1], device, ARGV[1] .. ' ' .. number)
    if broker and broker ~= ARGV[1] then
      local message = cjson.encode({ kind = 'session', deviceId = device, number = number })
      redis.call('PUBLISH', ARGV[2] .. broker, message)
    end
  else
    superseded[#superseded + 1] = device
  end
end
return superseded`;

/** The session of one device at a broker or a gateway, until its connection ends. */
export interface RegisteredSession {
  readonly deviceId: string;
  /** Calls `listener` once, when the connection has ended. */
  onClose(listener: () => void): void;
  close(): void;
  /** Closes the connection once everything accepted on it has been acknowledged. */
  end(): void;
}

export interface SessionRegistryOptions<Session> {
  readonly redis: Redis;
  /** A dedicated connection: Redis permits no other commands on a subscribing one. */
  readonly subscriber: Redis;
  readonly prefix: string;
  /** Of this broker or gateway, unique among all of them. */
  readonly brokerId: string;
  readonly connectedDevices: Gauge;
  readonly failures: FailureReports<'sessions' | 'commands'>;
  /** Handles a message for a device whose session may have ended in the meantime. */
  onMessage(message: Exclude<SessionMessage, { kind: 'session' }>, session: Session | undefined): void;
  /** Called when messages for any device may have been missed. @throws to be called again */
  onMissedMessages?(): Promise<void>;
  /** Called before a session is closed because its device has a newer one. */
  onSuperseded(session: Session): void;
}

interface Entry<Session> {
  readonly session: Session;
  /**
   * Of two sessions of a device, the one with the higher number is newer. Numbers from the counter are even. Without an
   * answer from Redis the number is odd: one above the highest number known when the session began, because clocks
   * cannot order sessions of different brokers.
   */
  number: number;
  /** Whether its number is still undecided. */
  isPending: boolean;
  /** The highest number announced for another session of the device. */
  other: number;
}

/**
 * Keeps the live sessions of this broker or gateway, in memory and in Redis (contracts/presence.ts), and closes those whose
 * device has a newer one, here or elsewhere. Devices connect and disconnect while Redis is unavailable or refuses to write;
 * the whole list is written again as soon as Redis accepts it.
 */
export class SessionRegistry<Session extends RegisteredSession> {
  readonly #options: SessionRegistryOptions<Session>;
  readonly #brokerKey: string;
  readonly #key: string;
  readonly #disconnectedKey: string;
  readonly #numberKey: string;
  readonly #live = new Map<string, Entry<Session>>();
  readonly #onReady = (): void => void this.#attempt(() => this.#writeAll());
  /** Sessions that began while others were being written, by device. */
  #arrived = new Map<string, Entry<Session>>();
  #writing: Promise<unknown> = Promise.resolve();
  #nextWrite: Promise<void> | undefined;
  /** Whether a write has failed since the whole list was last written. */
  #isStale = false;
  /** The highest number received from Redis. */
  #knownNumber = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopReceiving = async (): Promise<void> => undefined;

  constructor(options: SessionRegistryOptions<Session>) {
    this.#options = options;
    this.#brokerKey = brokerKey(options.prefix, options.brokerId);
    this.#key = presenceKey(options.prefix);
    this.#disconnectedKey = disconnectedKey(options.prefix);
    this.#numberKey = sessionNumberKey(options.prefix);
    options.connectedDevices.set(0);
  }

  get brokerId(): string {
    return this.#options.brokerId;
  }

  get size(): number {
    return this.#live.size;
  }

  get sessions(): Iterable<Session> {
    return sessionsOf(this.#live.values());
  }

  find(deviceId: string): Session | undefined {
    return this.#live.get(deviceId)?.session;
  }

  /** Writes all sessions now if Redis is available, and at each reconnect. */
  async start(): Promise<void> {
    const { redis, subscriber, failures } = this.#options;
    this.#stopReceiving = receiveChannel({
      subscriber,
      channel: this.#brokerKey,
      onMessage: (text) => this.#receive(JSON.parse(text) as SessionMessage),
      onSubscribed: () => this.#catchUp(),
      report(error) {
        if (error === undefined) failures.succeeded('commands');
        else failures.failed('commands', error);
      },
    });
    redis.on('ready', this.#onReady);
    this.#timer = setInterval(() => void this.#attempt(() => this.#refresh()), refreshMs);
    if (redis.status === 'ready') await this.#attempt(() => this.#writeAll());
  }

  /**
   * Adds a session until its connection closes, and closes the session that it replaces. Resolves when the session is
   * in Redis, or after a timeout.
   */
  async add(session: Session): Promise<void> {
    const { deviceId } = session;
    const replaced = this.#live.get(deviceId);
    const entry = { session, number: this.#knownNumber + 1, isPending: true, other: 0 };
    this.#live.set(deviceId, entry);
    this.#options.connectedDevices.set(this.#live.size);
    session.onClose(() => this.#delete(entry));
    this.#arrived.set(deviceId, entry);
    this.#nextWrite ??= this.#writing.then(() => this.#writeArrived());
    replaced?.session.close();
    await this.#nextWrite;
  }

  /**
   * Ends the sessions one after the other: 1,000 per second, or faster if that would take longer than `maximumMs`.
   * Ending all at once would cause a reconnect storm at the remaining brokers.
   */
  async drain(maximumMs: number): Promise<void> {
    const startMs = performance.now();
    const intervalMs = Math.min(1000 / minSessionsEndedPerSecond, maximumMs / this.size);
    let ended = 0;
    for (const session of [...this.sessions]) {
      const waitMs = startMs + ended * intervalMs - performance.now();
      if (waitMs >= 1) await delay(waitMs);
      session.end();
      ended += 1;
    }
  }

  /** Stops receiving messages; commands sent from now on have no receiver. */
  async stopReceiving(): Promise<void> {
    await this.#stopReceiving();
  }

  /** Removes this broker or gateway immediately instead of at the expiry of its key. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#stopReceiving();
    const { redis } = this.#options;
    redis.off('ready', this.#onReady);
    await this.#attempt(() => redis.del(this.#brokerKey));
  }

  #receive(message: SessionMessage): void {
    const entry = this.#live.get(message.deviceId);
    if (message.kind !== 'session') this.#options.onMessage(message, entry?.session);
    else if (entry) {
      entry.other = Math.max(entry.other, Number(message.number));
      this.#closeIfSuperseded(entry);
    }
  }

  /** Closes a session if a newer one was announced, possibly before its own number was known. */
  #closeIfSuperseded(entry: Entry<Session>): void {
    if (entry.isPending || entry.other < entry.number) return;
    this.#options.onSuperseded(entry.session);
    entry.session.close();
  }

  async #catchUp(): Promise<void> {
    // Announcements of newer sessions may be among the missed messages.
    await this.#write(this.#live.values());
    await this.#options.onMissedMessages?.();
  }

  #delete({ session, number }: Entry<Session>): void {
    const { deviceId } = session;
    if (this.#arrived.get(deviceId)?.session === session) this.#arrived.delete(deviceId);
    // Its successor replaces it in Redis; the device stays connected.
    if (this.#live.get(deviceId)?.session !== session) return;
    this.#live.delete(deviceId);
    this.#options.connectedDevices.set(this.#live.size);
    void this.#attempt(() => this.#remove([deviceId, this.#valueOf(number)]));
  }

  #valueOf(number: number): string {
    return `${this.#options.brokerId} ${number}`;
  }

  #fail(error: unknown): void {
    this.#isStale = true;
    this.#options.failures.failed('sessions', error);
  }

  /** Does nothing while Redis is unavailable: a reconnect writes all sessions. `#refresh` repairs a reported failure. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    if (this.#options.redis.status !== 'ready') return;
    try {
      await work();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Writes a reconnecting fleet in few commands, each while Redis syncs the previous one to disk. */
  async #writeArrived(): Promise<void> {
    await turn();
    const arrived = [...this.#arrived.values()];
    this.#arrived.clear();
    this.#nextWrite = undefined;
    const written = this.#attempt(async () => {
      await this.#number(arrived);
      decide(arrived);
      await this.#write(arrived);
    }).finally(() => decide(arrived));
    this.#writing = Promise.race([written, delay(writeTimeoutMs, undefined, { ref: false })]);
    await this.#writing;
  }

  /**
   * Takes numbers from the counter. A number that arrives after the CONNACK timeout would rank these sessions above
   * sessions that their devices have started elsewhere since.
   * @throws when the answer arrives after that timeout
   */
  async #number(arrived: readonly Entry<Session>[]): Promise<void> {
    const startMs = performance.now();
    const last = await this.#takeNumbers(2 * arrived.length);
    if (performance.now() - startMs >= writeTimeoutMs) throw new Error('Redis answered too late to order sessions');
    arrived.forEach((entry, index) => {
      entry.number = last - 2 * (arrived.length - 1 - index);
    });
  }

  /** Adds to the counter, and raises it to the highest known number. @returns its value */
  async #takeNumbers(increment: number): Promise<number> {
    const parameters = [increment, this.#knownNumber, Date.now() * 1000];
    const last = Number(await this.#options.redis.eval(takeNumbers, 1, this.#numberKey, ...parameters));
    this.#knownNumber = Math.max(this.#knownNumber, last);
    return last;
  }

  /** Writes the live and numbered ones of these sessions; closes those whose device has a newer session elsewhere. */
  async #write(sessions: Iterable<Entry<Session>>): Promise<void> {
    const { redis, brokerId, prefix } = this.#options;
    const entries = [...sessions].filter(
      (entry) => !entry.isPending && this.#live.get(entry.session.deviceId) === entry,
    );
    const writes: Promise<void>[] = [];
    for (let start = 0; start < entries.length; start += fieldsPerCommand) {
      const chunk = entries.slice(start, start + fieldsPerCommand);
      const written = chunk.flatMap(({ session, number }) => [session.deviceId, String(number)]);
      const script = redis.eval(writeIfNewest, 1, this.#key, brokerId, brokerKey(prefix, ''), ...written);
      writes.push(script.then((superseded) => this.#settle(chunk, new Set(superseded as string[]))));
    }
    await Promise.all(writes);
  }

  #settle(entries: readonly Entry<Session>[], superseded: ReadonlySet<string>): void {
    for (const entry of entries) {
      if (superseded.has(entry.session.deviceId)) entry.other = Number.POSITIVE_INFINITY;
      this.#closeIfSuperseded(entry);
    }
  }

  async #refresh(): Promise<void> {
    const { redis } = this.#options;
    const [isAlive] = await Promise.all([redis.pexpire(this.#brokerKey, brokerKeyTtlMs), this.#takeNumbers(0)]);
    // Without its key, other brokers may have removed this one's sessions.
    if (isAlive === 0 || this.#isStale) await this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isStale = false;
    await this.#takeNumbers(0);
    await this.#options.redis.set(this.#brokerKey, '1', 'PX', brokerKeyTtlMs);
    await this.#write(this.#live.values());
    await this.#removeStale();
    if (!this.#isStale) this.#options.failures.succeeded('sessions');
  }

  /** Removes the sessions of stopped brokers, and those that ended here while Redis was unavailable. */
  async #removeStale(): Promise<void> {
    const { redis, prefix, brokerId } = this.#options;
    const fields = Object.entries(await redis.hgetall(this.#key));
    const brokers = [...new Set(fields.map(([, session]) => brokerOfSession(session)))];
    const alive = await Promise.all(brokers.map((broker) => redis.exists(brokerKey(prefix, broker))));
    const gone = new Set(brokers.filter((_broker, index) => alive[index] === 0));
    const stale = fields.filter(([deviceId, session]) => {
      const broker = brokerOfSession(session);
      if (broker !== brokerId) return gone.has(broker);
      const live = this.#live.get(deviceId);
      return live === undefined || (!live.isPending && this.#valueOf(live.number) !== session);
    });
    for (let start = 0; start < stale.length; start += fieldsPerCommand) {
      await this.#remove(stale.slice(start, start + fieldsPerCommand).flat());
    }
  }

  async #remove(fieldsAndValues: string[]): Promise<void> {
    const { redis, brokerId, prefix } = this.#options;
    const keys = [this.#key, this.#disconnectedKey];
    const parameters = [Date.now(), brokerId, brokerKey(prefix, ''), ...fieldsAndValues];
    await redis.eval(removeUnlessNewer, keys.length, ...keys, ...parameters);
  }
}

function* sessionsOf<Session>(entries: Iterable<Entry<Session>>): Iterable<Session> {
  for (const { session } of entries) yield session;
}

function decide(entries: readonly Entry<unknown>[]): void {
  for (const entry of entries) entry.isPending = false;
}
