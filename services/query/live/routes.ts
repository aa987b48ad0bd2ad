import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import { credentialOf, type RoutePlugin } from '@odograph/http/authentication';
import { answers } from '@odograph/http/schemas';
import { hashSecret } from '@odograph/runtime/secrets';
import Type, { type Static } from 'typebox';
import { parseArea } from './area.ts';
import type { ViewRequest } from './fleet-view.ts';
import type { LiveStreams } from './live-streams.ts';
import { LiveEvent } from './schemas.ts';

const mostFollowed = 100;
const eventTypes = ['vehicles', 'commands', 'alarms'] as const;

const Query = Type.Object({
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
      description: `ids separated by commas, at most ${mostFollowed}: included wherever they are`,
      examples: ['1000000001'],
    }),
  ),
  types: Type.Optional(
    Type.String({
      maxLength: 256,
      description: `separated by commas: ${eventTypes.join(', ')}; all by default`,
      examples: ['vehicles,alarms'],
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

function parseTypes(text: string | undefined): readonly string[] {
  const types = listOf(text);
  const known: readonly string[] = eventTypes;
  if (types.some((type) => !known.includes(type))) {
    throw invalidParameter('types', `must be among ${eventTypes.join(', ')}`);
  }
  return types.length === 0 ? known : types;
}

function parseFollowed(text: string | undefined): ReadonlySet<number> {
  const ids = listOf(text).map(parseVehicleId);
  if (ids.length > mostFollowed) throw invalidParameter('vehicles', `must be at most ${mostFollowed} ids`);
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
          summary: 'The fleet live, as server-sent events',
          description:
            'Positions, states, command outcomes and alarms as they change. Each event is `event`, `id` and `data`, which is JSON.',
          produces: ['text/event-stream'],
          querystring: Query,
          headers: Headers,
          response: answers(LiveEvent),
        },
      },
      async (request, reply) => {
        const types = parseTypes(request.query.types);
        const stream = await streams.open(
          {
            person: personOf(request),
            view: types.includes('vehicles') ? parseView(request.query) : undefined,
            events: new Set([
              ...(types.includes('commands') ? ['command' as const] : []),
              ...(types.includes('alarms') ? ['alarm' as const] : []),
            ]),
            lastEventId: request.headers['last-event-id'] || undefined,
            isOnce: request.query.once,
            findViewer: () => request.findViewer(),
          },
          request.viewer,
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
