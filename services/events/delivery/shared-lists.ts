import { type EventCursor, isBefore } from '@odograph/event-list/cursor';
import type { EventPage, EventRequest } from '@odograph/event-list/read-events';

/** Maximum events of a page. */
export const eventsPerPage = 500;
/** A page serves further webhooks for this long; it shows events as they were when it was read. */
const keptMs = 1000;

/** Selects the events that a webhook receives. */
type Followed = Pick<Required<EventRequest>, 'applicationId' | 'types'> & Pick<EventRequest, 'vehicleIds'>;

/** The list of events of an application, for the webhooks with the same event types. */
interface SharedList extends Pick<Followed, 'applicationId' | 'types'> {
  readonly followers: Set<Followed>;
  /** The page that was read last, or is being read. */
  latest: { readonly after: EventCursor; readonly page: Promise<EventPage> } | undefined;
}

/** The list of events as one webhook sees it. */
export interface FollowedList {
  /** Reads the page behind a cursor. @throws Failure as readEvents */
  read(after: EventCursor): Promise<EventPage>;
  close(): void;
}

/**
 * Reads the lists of events for the webhooks of a process. Webhooks of an application with the same event types share each page,
 * which holds the events of all their vehicles. A webhook that is behind reads pages of its own until it has caught up.
 */
export class SharedLists {
  readonly #readEvents: (request: EventRequest) => Promise<EventPage>;
  readonly #lists = new Map<string, SharedList>();

  constructor(readEvents: (request: EventRequest) => Promise<EventPage>) {
    this.#readEvents = readEvents;
  }

  follow(followed: Followed): FollowedList {
    const { applicationId, types, vehicleIds } = followed;
    const key = [applicationId, ...types].join(' ');
    const list = this.#lists.get(key) ?? { applicationId, types, followers: new Set(), latest: undefined };
    this.#lists.set(key, list);
    list.followers.add(followed);
    // The page may lack events of the new webhook's vehicles.
    list.latest = undefined;
    const vehicles = vehicleIds && new Set<number | undefined>(vehicleIds);
    return {
      read: async (after) => {
        const page = await this.#findPage(list, followed, after);
        const events = page.events.filter(
          ({ vehicleId, cursor }) => (vehicles === undefined || vehicles.has(vehicleId)) && isBefore(after, cursor),
        );
        return { ...page, events };
      },
      close: () => {
        list.followers.delete(followed);
        if (list.followers.size === 0) this.#lists.delete(key);
      },
    };
  }

  /** Finds a page with the events behind a cursor. It may begin earlier, and contain events of other vehicles. */
  async #findPage(list: SharedList, followed: Followed, after: EventCursor): Promise<EventPage> {
    for (let { latest } = list; latest?.after.epoch === after.epoch; { latest } = list) {
      if (isBefore(after, latest.after)) return this.#readEvents({ ...followed, after, limit: eventsPerPage });
      const page = await latest.page.catch(() => undefined);
      if (page && (isBefore(after, page.next) || !isBefore(latest.after, after))) return page;
      if (latest === list.latest) break;
    }
    return this.#readShared(list, followed, after);
  }

  #readShared(list: SharedList, followed: Followed, after: EventCursor): Promise<EventPage> {
    const { applicationId, types } = list;
    // A webhook that was closed meanwhile is no follower, but must not skip events of its vehicles either.
    const limits = [...list.followers, followed].map(({ vehicleIds }) => vehicleIds);
    const limited = limits.every((ids) => ids !== undefined) ? { vehicleIds: [...new Set(limits.flat())] } : {};
    const page = this.#readEvents({ applicationId, types, ...limited, after, limit: eventsPerPage });
    const latest = { after, page };
    list.latest = latest;
    setTimeout(() => {
      if (list.latest === latest) list.latest = undefined;
    }, keptMs).unref();
    return page;
  }
}
