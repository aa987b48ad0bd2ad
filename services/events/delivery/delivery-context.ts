import type { Tables } from '@odograph/database/tables';
import type { PlatformEvent } from '@odograph/event-list/read-events';
import type { Clock } from '@odograph/http/http';
import type { FailureReports } from '@odograph/runtime/background-failures';
import type { Logger } from '@odograph/runtime/logger';
import type { Kysely } from 'kysely';
import type { EventMetrics, EventTask } from '../metrics.ts';
import type { Attempt } from './receiver.ts';
import type { DeliverySlots } from './slots.ts';

/** What the deliveries of a process share. */
export interface DeliveryContext {
  readonly db: Kysely<Tables>;
  readonly slots: DeliverySlots;
  readonly metrics: EventMetrics;
  readonly failures: FailureReports<EventTask>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Of this process. */
  readonly lease: string;
  /** Whether the leases of this process are certainly its own. */
  hasLeases(): boolean;
}

/** Posts an event to the receiver of a webhook, signed. */
export type PostEvent = (event: Pick<PlatformEvent, 'id' | 'json'>) => Promise<Attempt>;

/** Attempts in flight to one receiver, when it answers quickly and without a failure. */
export const mostInFlight = 128;
