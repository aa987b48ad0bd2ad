import { brokerKey, brokerOfSession, presenceKey } from '@odograph/contracts/presence';
import type { Redis } from './redis.ts';

/** Whether the device has a live MQTT session; two short questions to Redis. Throws when Redis is away. */
export async function isPresent(redis: Redis, prefix: string, deviceId: string): Promise<boolean> {
  const session = await redis.hget(presenceKey(prefix), deviceId);
  if (session === null) return false;
  return (await redis.exists(brokerKey(prefix, brokerOfSession(session)))) === 1;
}
