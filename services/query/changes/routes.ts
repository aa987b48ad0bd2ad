import { Failure } from '@odograph/contracts/failures';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { sendPage } from '@odograph/http/paging';
import { answers } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { streamJson } from '../json-stream.ts';
import { maximumReadings } from '../reading-page.ts';
import { StoredReading } from '../schemas.ts';
import { type Snapshot, withSnapshot } from '../snapshot.ts';
import { scopeOfCaller, type VehicleScope } from '../vehicle-scope.ts';
import { type ChangePosition, readPosition, startOf, writePosition } from './position.ts';
import {
  type ChangePage,
  type FeedState,
  findFeedState,
  findPage,
  findTransactionsElsewhere,
  readingsOf,
} from './queries.ts';

const path = '/v1/x/changes';

const Query = Type.Object({
  after: Type.Optional(
    Type.String({ description: '`next` of an earlier answer; without it from the oldest change that is kept' }),
  ),
  limit: Type.Integer({ minimum: 1, default: 3000, description: 'readings in the answer, at most 10,000' }),
});
const Changes = Type.Object({
  changes: Type.Array(StoredReading),
  next: Type.String({ description: 'goes on behind this answer, now or later; not to be interpreted' }),
  more: Type.Boolean({ description: 'more is there already, even when this answer holds little or nothing' }),
});

/** Where to go on. @throws Failure INVALID_PARAMETER, with the reason EXPIRED when changes behind it may be gone */
function startAt(after: ChangePosition | undefined, { forgottenUntil }: FeedState): ChangePosition {
  if (after === undefined) return startOf(0n);
  if (after.transaction > forgottenUntil) return after;
  const message = 'after lies before the oldest change that is kept; read the history, and go on without after';
  throw new Failure('INVALID_PARAMETER', message, { field: 'after', reason: 'EXPIRED' });
}

async function openBody(snapshot: Snapshot, page: ChangePage, { members }: VehicleScope) {
  const end = `],"next":"${writePosition(page.stretch.until)}","more":${page.more}}`;
  const frame = { start: '{"changes":[', end };
  if (page.count === 0) {
    await snapshot.close();
    return frame.start + frame.end;
  }
  const write = (row: { vehicle_id: number; members: string }) =>
    `{${members.get(row.vehicle_id) ?? ''}${row.members}}`;
  return streamJson(snapshot, readingsOf(page), frame, write);
}

/** GET /v1/x/changes, the feed of stored readings (docs/interface.md, "Following what is stored"). */
export function addChangeRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    path,
    {
      schema: {
        tags: ['changes'],
        summary: 'Readings in the order in which they were stored, late ones included',
        description:
          `For those who must miss nothing: each reading comes at least once, and again whenever it changes, as it
          is now. An \`after\` older than the changes that are kept is refused with the reason EXPIRED.`.replace(
            /\s+/g,
            ' ',
          ),
        querystring: Query,
        response: answers(Changes),
      },
    },
    async ({ caller, query }, reply) => {
      const limit = Math.min(query.limit, maximumReadings);
      const given = query.after === undefined ? undefined : readPosition(query.after);
      const elsewhere = await findTransactionsElsewhere(db);
      const { body, page } = await withSnapshot(db, async (snapshot) => {
        const state = await findFeedState(snapshot.db, caller, elsewhere);
        const scope = await scopeOfCaller(snapshot.db, caller);
        const after = startAt(given, state);
        const ids = [...scope.members.keys()];
        const found = await findPage(snapshot.db, caller, ids, { after, horizon: state.horizon, limit });
        return { body: await openBody(snapshot, found, scope), page: found };
      });
      const parameters = { after: writePosition(page.stretch.until), limit: String(limit) };
      return sendPage(reply, body, page.more ? { path, parameters } : undefined);
    },
  );
}
