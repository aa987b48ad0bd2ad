import { type EventCursor, isBefore } from '@odograph/event-list/cursor';
import type { PlatformEvent } from '@odograph/event-list/read-events';
import type { GivenUpEvent, VehicleKey } from './queries.ts';
import type { ReadPage } from './waiting-vehicles.ts';

const eventsPerPage = 500;
/** Dead letters of a webhook. Further events that are given up stay in the list, where a replay by time finds them. */
export const mostDeadLetters = 10_000;

/** Describes an event that is given up. @param position right before it */
export function giveUp(event: PlatformEvent, position: EventCursor, error: string, failedAt: Date): GivenUpEvent {
  const { id: eventId, type, vehicleId, time: occurredAt, cursor: positionBehind } = event;
  return { eventId, type, vehicleId, position, positionBehind, occurredAt, failedAt, error };
}

/** Which events are given up, and as what. */
interface Walk {
  readonly after: EventCursor;
  /** Events from here on are tried further. */
  readonly until: EventCursor;
  /** Most events to note down. */
  readonly most: number;
  readonly vehicleIds?: readonly number[];
  isGivenUp(vehicle: VehicleKey): boolean;
  describe(event: PlatformEvent, position: EventCursor): GivenUpEvent;
}

/** Collects the events between two positions that are given up. */
export async function collectGivenUp(read: ReadPage, walk: Walk): Promise<GivenUpEvent[]> {
  const { until, most, vehicleIds, isGivenUp, describe } = walk;
  const collected: GivenUpEvent[] = [];
  for (let { after } = walk; isBefore(after, until) && collected.length < most; ) {
    const page = await read({ after, limit: eventsPerPage, ...(vehicleIds && { vehicleIds }) });
    for (const event of page.events.filter(({ cursor }) => isBefore(cursor, until))) {
      if (isGivenUp(event.vehicleId) && collected.length < most) collected.push(describe(event, after));
      after = event.cursor;
    }
    if (!isBefore(after, page.next) || !page.more) break;
    after = page.next;
  }
  return collected;
}
