import { withinGroup } from '@odograph/contracts/caller';
import { type EventType, eventTypePatterns, typesOfPattern } from '@odograph/contracts/events';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import { credentialOf, type RoutePlugin } from '@odograph/http/authentication';
import { answers, GroupFilter } from '@odograph/http/schemas';
import { hashSecret } from '@odograph/runtime/secrets';
import Type, { type Static } from 'typebox';
import { parseArea } from './area.ts';
import type { ViewRequest } from './fleet-view.ts';
import type { LiveStreams } from './live-streams.ts';
import { LiveEvent, listedEvents } from './schemas.ts';

const maxFollowed = 100;
/** Types whose current state is sent; the others are those of the list of events. */
const presentTypes = ['vehicles', 'commands', 'alarms'] as const;

const Query = Type.Object({
  group: GroupFilter,
  bbox: Type.Optional(
    Type.String({
      maxLength: 128,
      description:
        'west,south,east,north in decimal degrees: only vehicles there; west > east crosses the 180th meridian',
      examples: ['2.2,48.8,2.5,48.95'],
    }),
  ),
  zoom: Type.Optional(
    Type.Number({ minimum: 0, maximum: 24, description: 'zoom of the map, which decides the size of cells' }),
  ),
  vehicles: Type.Optional(
    Type.String({
      maxLength: 2048,
      description: `ids separated by commas, at most ${maxFollowed}: included wherever they are, and the only ones whose events of the list are sent`,
      examples: ['1000000001'],
    }),
  ),
  types: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: `separated by commas: ${presentTypes.join(', ')} (these by default), and of the list of events ${eventTypePatterns.join(', ')}`,
      examples: ['vehicles,alarms', 'booking.*,trip.finished'],
    }),
  ),
  once: Type.Boolean({
    default: false,
    description: 'ends the answer as soon as the client is up to date: for reading at intervals, with Last-Event-ID',
  }),
});
const Headers = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ maxLength: 256, description: 'id of the last event received: continues behind it' }),
  ),
});

const listOf = (text = ''): string[] => text.split(',').filter((part) => part !== '');

interface AskedTypes {
  readonly present: ReadonlySet<string>;
  readonly list: ReadonlySet<EventType>;
}

function parseTypes(text: string | undefined): AskedTypes {
  const asked = listOf(text);
  const known: readonly string[] = [...presentTypes, ...eventTypePatterns];
  if (asked.some((type) => !known.includes(type))) throw invalidParameter('types', `must be among ${known.join(', ')}`);
  if (asked.length === 0) return { present: new Set(presentTypes), list: new Set() };
  return { present: new Set(asked), list: new Set(asked.flatMap((type) => typesOfPattern(type) ?? [])) };
}

function parseFollowed(text: string | undefined): ReadonlySet<number> {
  const ids = listOf(text).map(parseVehicleId);
  if (ids.length > maxFollowed) throw invalidParameter('vehicles', `must be at most ${maxFollowed} ids`);
  return new Set(
    ids.map((id) => {
      if (id === undefined)
        throw new Failure('INVALID_PARAMETER', 'vehicles must be vehicle ids', { field: 'vehicles' });
      return id;
    }),
  );
}

function parseView({ bbox, zoom, vehicles }: Static<typeof Query>): ViewRequest {
  return { area: bbox === undefined ? undefined : parseArea(bbox), zoom, followed: parseFollowed(vehicles) };
}

/** Identifies the token or the browser session of a request. */
const personOf = (request: Parameters<typeof credentialOf>[0]): string =>
  hashSecret(credentialOf(request) ?? '').toString('base64');

/** GET /v1/x/events, the live stream (docs/interface.md, "Live stream"). */
export function liveRoutes(streams: LiveStreams): RoutePlugin {
  return (http) => {
    // A stream may never end, and the server waits for answers when it closes.
    http.addHook('preClose', async () => streams.endAll());

    http.get(
      '/v1/x/events',
      {
        exposeHeadRoute: false,
        schema: {
          tags: ['live'],
          summary: 'The fleet live, and the list of events, as server-sent events',
          description:
            'Positions, states, command outcomes and alarms as they change, and what happened in order. Each event is `event`, `id` and `data`, which is JSON.',
          produces: ['text/event-stream'],
          querystring: Query,
          headers: Headers,
          webhooks: listedEvents,
          response: answers(Type.Union([...LiveEvent.anyOf, ...listedEvents])),
        },
      },
      async (request, reply) => {
        const { present, list } = parseTypes(request.query.types);
        const followed = parseFollowed(request.query.vehicles);
        const stream = await streams.open(
          {
            person: personOf(request),
            view: present.has('vehicles') ? parseView(request.query) : undefined,
            events: new Set([
              ...(present.has('commands') ? ['command' as const] : []),
              ...(present.has('alarms') ? ['alarm' as const] : []),
            ]),
            listTypes: list,
            listVehicleIds: followed.size > 0 ? followed : undefined,
            lastEventId: request.headers['last-event-id'] || undefined,
            isOnce: request.query.once,
            findViewer: async () => withinGroup(await request.findViewer(), request.query.group),
          },
          withinGroup(request.viewer, request.query.group),
        );
        return (
          reply
            // Otherwise a connection whose stream ends at shutdown would stay open for the next request.
            .headers({ connection: 'close', 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
            .type('text/event-stream; charset=utf-8')
            .send(stream)
        );
      },
    );
  };
}
