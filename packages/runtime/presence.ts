import { brokerKey, presenceKey } from '@odograph/contracts/presence';
import type { Redis } from './redis.ts';

/** Lua: whether a device has a session whose broker's key exists, in one round trip. */
const hasLiveSession = `local session = redis.call('HGET', KEYS[1], ARGV[1])
if not session then return 0 end
return redis.call('EXISTS', ARGV[2] .. string.match(session, '^[^ ]*'))`;

/** Tells whether the device has a live MQTT session. @throws when Redis is unavailable */
export async function isPresent(redis: Redis, prefix: string, deviceId: string): Promise<boolean> {
  return (await redis.eval(hasLiveSession, 1, presenceKey(prefix), deviceId, brokerKey(prefix, ''))) === 1;
}
