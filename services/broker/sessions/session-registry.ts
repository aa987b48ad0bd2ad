import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { brokerKey, brokerOfSession, presenceKey } from '@odograph/contracts/presence';
import type { Gauge } from '@odograph/runtime/metrics';
import type { Redis } from '@odograph/runtime/redis';
import type { DeviceSession } from './session.ts';

const brokerKeyTtlMs = 10_000;
const refreshMs = 3000;
const patienceMs = 1000;
const fieldsPerCommand = 500;

/** Removes each field that still has the value it is given with: a session never takes away the one that came after it. */
const removeIfEqual = `for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end`;

/**
 * The live sessions of this broker, here and in Redis (contracts/presence.ts). Redis follows as well as it can: while it is
 * away devices come and go all the same, and when it is back it gets the whole list anew.
 */
export class SessionRegistry {
  readonly #redis: Redis;
  readonly #brokerId: string;
  readonly #brokerKey: string;
  readonly #key: string;
  readonly #connected: Gauge;
  readonly #live = new Map<string, DeviceSession>();
  readonly #onReady = (): void => void this.#writeAll().catch(() => undefined);
  /** Sessions that came while others were being written: device id to session. */
  #arrived = new Map<string, string>();
  #writing: Promise<unknown> = Promise.resolve();
  #nextWrite: Promise<void> | undefined;
  #connections = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: Redis, prefix: string, brokerId: string, connected: Gauge) {
    this.#redis = redis;
    this.#brokerId = brokerId;
    this.#brokerKey = brokerKey(prefix, brokerId);
    this.#key = presenceKey(prefix);
    this.#connected = connected;
    connected.set(0);
  }

  get sessions(): Iterable<DeviceSession> {
    return this.#live.values();
  }

  get size(): number {
    return this.#live.size;
  }

  find(deviceId: string): DeviceSession | undefined {
    return this.#live.get(deviceId);
  }

  /** Names a session that no other has the name of. */
  nextSession(): string {
    this.#connections += 1;
    return `${this.#brokerId} ${this.#connections}`;
  }

  /** Writes everything now if Redis is there, and whenever it comes back. */
  async start(): Promise<void> {
    this.#redis.on('ready', this.#onReady);
    this.#timer = setInterval(() => void this.#refresh().catch(() => undefined), refreshMs);
    if (this.#redis.status === 'ready') await this.#writeAll().catch(() => undefined);
  }

  /** Resolves when the session is in Redis, or it is clear that it will not be there soon. */
  async arrive(session: DeviceSession): Promise<void> {
    this.#live.set(session.deviceId, session);
    this.#connected.set(this.#live.size);
    session.client.conn.once('close', () => void this.#leave(session).catch(() => undefined));
    this.#arrived.set(session.deviceId, session.presence);
    this.#nextWrite ??= this.#writing.then(() => this.#writeArrived());
    await this.#nextWrite;
  }

  /** The broker is gone at once, not when its key expires. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#redis.off('ready', this.#onReady);
    if (this.#redis.status === 'ready') await this.#redis.del(this.#brokerKey);
  }

  /** A fleet that comes at once is written with few commands, each while the one before is on its way to the disk. */
  async #writeArrived(): Promise<void> {
    await turn();
    const fields = [...this.#arrived].flat();
    this.#arrived.clear();
    this.#nextWrite = undefined;
    const written = this.#set(fields).catch(() => undefined);
    this.#writing = Promise.race([written, delay(patienceMs, undefined, { ref: false })]);
    await this.#writing;
  }

  async #leave(session: DeviceSession): Promise<void> {
    if (this.#arrived.get(session.deviceId) === session.presence) this.#arrived.delete(session.deviceId);
    if (this.#live.get(session.deviceId) === session) this.#live.delete(session.deviceId);
    this.#connected.set(this.#live.size);
    await this.#remove([session.deviceId, session.presence]);
  }

  async #refresh(): Promise<void> {
    const alive = await this.#redis.pexpire(this.#brokerKey, brokerKeyTtlMs);
    // Others may have taken this broker for dead by now and its sessions off the list.
    if (alive === 0) await this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    await this.#redis.set(this.#brokerKey, '1', 'PX', brokerKeyTtlMs);
    await this.#set([...this.#live.values()].flatMap(({ deviceId, presence }) => [deviceId, presence]));
    await this.#removeStale();
  }

  async #set(fieldsAndValues: readonly string[]): Promise<void> {
    const writes: Promise<unknown>[] = [];
    for (let start = 0; start < fieldsAndValues.length; start += fieldsPerCommand) {
      writes.push(this.#redis.hset(this.#key, ...fieldsAndValues.slice(start, start + fieldsPerCommand)));
    }
    await Promise.all(writes);
  }

  /** Takes off what brokers that are gone left behind, and what left this one while Redis was away. */
  async #removeStale(): Promise<void> {
    const fields = Object.entries(await this.#redis.hgetall(this.#key));
    const brokers = [...new Set(fields.map(([, session]) => brokerOfSession(session)))];
    const prefix = this.#brokerKey.slice(0, -this.#brokerId.length);
    const alive = await Promise.all(brokers.map((broker) => this.#redis.exists(`${prefix}${broker}`)));
    const gone = new Set(brokers.filter((_broker, index) => alive[index] === 0));
    const stale = fields.filter(([deviceId, session]) => {
      const broker = brokerOfSession(session);
      return broker === this.#brokerId ? this.#live.get(deviceId)?.presence !== session : gone.has(broker);
    });
    for (let start = 0; start < stale.length; start += fieldsPerCommand) {
      await this.#remove(stale.slice(start, start + fieldsPerCommand).flat());
    }
  }

  async #remove(fieldsAndValues: string[]): Promise<void> {
    await this.#redis.eval(removeIfEqual, 1, this.#key, ...fieldsAndValues);
  }
}
