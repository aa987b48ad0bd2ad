import { brokerKey, presenceKey } from '@odograph/contracts/presence';
import type { Redis } from './redis.ts';

/** The session of a device, and whether the key of its broker is there; one question, since Redis may be busy. */
const hasLiveSession = `local session = redis.call('HGET', KEYS[1], ARGV[1])
if not session then return 0 end
return redis.call('EXISTS', ARGV[2] .. string.match(session, '^[^ ]*'))`;

/** Whether the device has a live MQTT session. Throws when Redis is away. */
export async function isPresent(redis: Redis, prefix: string, deviceId: string): Promise<boolean> {
  return (await redis.eval(hasLiveSession, 1, presenceKey(prefix), deviceId, brokerKey(prefix, ''))) === 1;
}
