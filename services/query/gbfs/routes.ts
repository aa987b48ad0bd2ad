import { Failure } from '@odograph/contracts/failures';
import { systemIdPattern } from '@odograph/contracts/gbfs';
import { findApplicationId } from '@odograph/database/accounts';
import { inSnapshot } from '@odograph/database/batches';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendJson } from '@odograph/http/paging';
import { AppId, answers, checkedWord, moment, VehicleId, word } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { FeedCache, type FeedName, feedNames } from './feeds.ts';
import { findSpots, findSystem, findVehicles, hiddenStates } from './queries.ts';
import { publish } from './rules.ts';

const SystemId = Type.String({ examples: ['example_paris'], documentedAs: { pattern: systemIdPattern } });
const File = checkedWord(feedNames.map((name) => `${name}.json`));
const FeedAnswer = Type.Object(
  {
    last_updated: moment('the moment that the data is of'),
    ttl: Type.Integer({ description: 'seconds for which it is valid', examples: [30] }),
    version: Type.String({ examples: ['3.0'] }),
    data: Type.Object({}, { additionalProperties: true, description: 'as GBFS 3.0 defines it for this file' }),
  },
  { title: 'GbfsFeed' },
);

/** Tests whether a client has this tag already (RFC 9110, "If-None-Match": weak comparison). */
function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const bare = (tag: string) => tag.trim().replace(/^W\//, '');
  return ifNoneMatch?.split(',').some((tag) => bare(tag) === '*' || bare(tag) === bare(etag)) ?? false;
}

/** The feeds of GBFS 3.0, for everyone. */
export function gbfsRoutes(db: Kysely<Tables>): RoutePlugin {
  const cache = new FeedCache(db);
  return (http) => {
    http.get(
      '/v1/x/gbfs/:systemId/:file',
      {
        schema: {
          tags: ['gbfs'],
          summary: 'A file of the GBFS 3.0 feeds of a sharing system, without a token',
          security: [],
          params: Type.Object({ systemId: SystemId, file: File }),
          headers: Type.Object({ 'if-none-match': Type.Optional(Type.String({ maxLength: 1024 })) }),
          answerHeaders: { ETag: { type: 'string', description: 'names this state of the file' } },
          response: { ...answers(FeedAnswer, 'NOT_FOUND'), 304: Type.Null({ description: 'unchanged' }) },
        },
      },
      async ({ params: { systemId, file }, headers }, reply) => {
        const name = feedNames.find((one): one is FeedName => file === `${one}.json`);
        if (!name) throw new Failure('NOT_FOUND', 'no such file');
        const feed = (await cache.read(systemId)).get(name);
        if (!feed) throw new Failure('NOT_FOUND', 'the system has no such file');
        reply.headers({
          etag: feed.etag,
          'cache-control': `public, max-age=${feed.ttlSeconds}`,
          'access-control-allow-origin': '*',
          'access-control-expose-headers': 'ETag',
          'cross-origin-resource-policy': 'cross-origin',
        });
        if (hasTag(headers['if-none-match'], feed.etag)) return reply.code(304).send(null);
        return sendJson(reply, feed.text);
      },
    );
  };
}

const Reason = word([...hiddenStates, 'NO_TYPE', 'RANGE_UNKNOWN'], { description: 'why it is not published' });
const maxVehicles = 1000;

/** Shows operators which vehicles of an application are in its feeds now, and why the others are not. */
export function gbfsOperatorRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/admin/gbfs/:appId/vehicles',
      {
        schema: {
          summary:
            'Show how many vehicles of an application its GBFS feeds publish now, and why the others are not in them',
          params: Type.Object({ appId: AppId }),
          response: answers(
            Type.Object({
              published: Type.Integer({ description: 'number of vehicles in vehicle_status.json', examples: [12] }),
              hidden: Type.Array(
                Type.Object({ vehicleId: VehicleId, plate: Type.String({ examples: ['AB-123-CD'] }), reason: Reason }),
                {
                  description: `the others, at most ${maxVehicles}`,
                },
              ),
            }),
            ...(['UNKNOWN_APPLICATION', 'NOT_FOUND'] as const),
          ),
        },
      },
      async ({ params: { appId }, operator }) => {
        const applicationId = await findApplicationId(db, appId, operator.applicationIds);
        return inSnapshot(db, async (snapshot) => {
          const system = await findSystem(snapshot, { applicationId });
          if (!system) throw new Failure('NOT_FOUND', 'the application publishes no GBFS feeds');
          const spots = new Map((await findSpots(snapshot, system)).map((spot) => [spot.shortId, spot]));
          const vehicles = await findVehicles(snapshot, system, false);
          const hidden = vehicles.flatMap((vehicle) => {
            const published = publish(system, vehicle, spots);
            if (typeof published !== 'string') return [];
            return [{ vehicleId: String(vehicle.id), plate: vehicle.plate, reason: published }];
          });
          return { published: vehicles.length - hidden.length, hidden: hidden.slice(0, maxVehicles) };
        });
      },
    );
  };
}
