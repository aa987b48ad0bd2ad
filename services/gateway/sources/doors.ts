import type { Http } from '@odograph/http/http';
import type { ServiceHost } from '@odograph/runtime/service';
import type { GatewayEngines } from '../engines.ts';
import type { GatewayUploads, HeldBytes } from '../uploads.ts';
import { MessageIntake } from './accept-messages.ts';
import { SenderLimits } from './limits.ts';
import { addSourceDoors } from './routes.ts';
import { Senders } from './senders.ts';
import { UsageCounts } from './usage.ts';

/** Opens the HTTP doors for other systems and apps. */
export async function openSourceDoors(
  { http, config, logger, onStop }: ServiceHost<Http>,
  { db, redis, backlog, metrics }: GatewayEngines,
  { held, uploads }: { held: HeldBytes; uploads: GatewayUploads },
): Promise<void> {
  const usage = new UsageCounts(db, logger);
  onStop('counts of sources', () => usage.stop());
  await addSourceDoors(http, {
    ...{ config, metrics, held, usage },
    senders: new Senders({
      ...{ db, logger },
      failuresPerSecret: config.LOGIN_ATTEMPTS_PER_MINUTE,
      failuresPerNetwork: config.HTTP_REQUESTS_PER_MINUTE,
    }),
    limits: new SenderLimits(),
    intake: new MessageIntake({
      ...{ db, logger, usage, uploads },
      newDevicesPerHour: config.SOURCE_NEW_DEVICES_PER_HOUR,
    }),
    unavailable() {
      if (redis.status !== 'ready') return 'Redis is away';
      return backlog.isFull ? 'the backlog exceeds its limit' : undefined;
    },
  });
}
