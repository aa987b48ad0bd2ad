import { brokerKey, brokerOfSession, disconnectedKey, presenceKey } from '@odograph/contracts/presence';
import type { Redis } from '@odograph/runtime/redis';

/** Lua: whether a device has a session whose broker's key exists, in one round trip. */
const hasLiveSession = `local session = redis.call('HGET', KEYS[1], ARGV[1])
if not session then return 0 end
return redis.call('EXISTS', ARGV[2] .. string.match(session, '^[^ ]*'))`;

/** Tells whether the device has a live session. @throws when Redis is unavailable */
export async function isPresent(redis: Redis, prefix: string, deviceId: string): Promise<boolean> {
  return (await redis.eval(hasLiveSession, 1, presenceKey(prefix), deviceId, brokerKey(prefix, ''))) === 1;
}

/**
 * Finds the devices with a live session.
 * @param ids the devices to look for; all without it
 * @throws when Redis is unavailable
 */
export async function findPresent(redis: Redis, prefix: string, ids?: readonly string[]): Promise<Set<string>> {
  if (ids?.length === 0) return new Set();
  const sessions = new Map<string, string>();
  if (ids === undefined) {
    for (const [id, session] of Object.entries(await redis.hgetall(presenceKey(prefix)))) sessions.set(id, session);
  } else {
    const values = await redis.hmget(presenceKey(prefix), ...ids);
    ids.forEach((id, index) => {
      const session = values[index];
      if (typeof session === 'string') sessions.set(id, session);
    });
  }
  const live = new Set<string>();
  for (const broker of new Set([...sessions.values()].map(brokerOfSession))) {
    if ((await redis.exists(brokerKey(prefix, broker))) === 1) live.add(broker);
  }
  return new Set([...sessions].flatMap(([id, session]) => (live.has(brokerOfSession(session)) ? [id] : [])));
}

/**
 * Finds when the last sessions of devices ended, as brokers and gateways noticed it: a session that ended while Redis
 * was unavailable, or with its broker, ended when one of them could write it.
 * @returns UNIX milliseconds by device id; devices whose first session has not ended are left out
 * @throws when Redis is unavailable
 */
export async function findSessionEnds(
  redis: Redis,
  prefix: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const times = await redis.hmget(disconnectedKey(prefix), ...ids);
  return new Map(
    ids.flatMap((id, index): [string, number][] => {
      const time = times[index];
      return typeof time === 'string' ? [[id, Number(time)]] : [];
    }),
  );
}
