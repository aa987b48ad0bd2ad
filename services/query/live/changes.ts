import { invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import { type ChangeCursor, type FeedState, requireKept, startOf } from '@odograph/event-list/cursor';
import { findFeedState, findPage, readChanges } from '@odograph/event-list/reading-changes';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendPage } from '@odograph/http/paging';
import { pageHeaders, answers as responses } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Answers } from '../shared/answers.ts';
import { type Reader, readerOf } from '../shared/read-budget.ts';
import { maximumReadings } from '../shared/reading-page.ts';
import { StoredReading } from '../shared/schemas.ts';
import { scopeOfCaller } from '../shared/vehicle-scope.ts';

const form = /^(\d{1,18})-(\d{1,18})-(\d{1,18})-(\d{1,18})-(\d{1,10})$/;
const latestTime = 253_402_300_799_999_999n;

/** Formats a position as the opaque text `next`. */
function formatCursor({ epoch, transaction, batch, time, vehicleId }: ChangeCursor): string {
  return [epoch, transaction, batch, time, vehicleId].join('-');
}

/** Parses `next` of an earlier answer. @throws Failure INVALID_PARAMETER for any other text */
function parseCursor(text: string): ChangeCursor {
  const [, epoch = '', transaction = '', batch = '', time = '', id = ''] = form.exec(text) ?? [];
  const vehicleId = id === '0' ? 0 : parseVehicleId(id);
  if (vehicleId === undefined || BigInt(time) > latestTime) {
    throw invalidParameter('after', 'must be `next` of an answer');
  }
  return {
    epoch: BigInt(epoch),
    transaction: BigInt(transaction),
    batch: BigInt(batch),
    time: BigInt(time),
    vehicleId,
  };
}

/**
 * Decides where a page starts.
 * @throws Failure INVALID_PARAMETER with the reason EXPIRED when changes after `after` may have been deleted, or lost in a
 * restore of the database
 */
function startAt(after: ChangeCursor | undefined, state: FeedState): ChangeCursor {
  if (after === undefined) return startOf(state.epoch, 0n);
  requireKept(after, state, 'after', formatCursor);
  return after;
}

const path = '/v1/x/changes';

const Query = Type.Object({
  after: Type.Optional(
    Type.String({ description: '`next` of an earlier answer; without it, from the oldest change that is kept' }),
  ),
  limit: Type.Integer({ minimum: 1, default: 3000, description: 'readings in the answer, at most 10,000' }),
});
const Changes = Type.Object(
  {
    changes: Type.Array(StoredReading),
    next: Type.String({ description: 'opaque; continues behind this answer, now or later', examples: ['0-0-0-0'] }),
    more: Type.Boolean({ description: 'more is available now, even when this answer holds little or nothing' }),
  },
  { title: 'Changes' },
);

interface ReadPage {
  readonly pieces: readonly Buffer[];
  readonly until: ChangeCursor;
  readonly more: boolean;
}

/** Reads a page; one that does not fit into `bytes` ends early. */
async function readPage(
  db: Database,
  { caller }: Reader,
  { given, limit }: { given: ChangeCursor | undefined; limit: number },
  bytes: number,
): Promise<ReadPage> {
  const state = await findFeedState(db, [caller.applicationId], ['changes']);
  const { members } = await scopeOfCaller(db, caller);
  const after = startAt(given, state);
  const find = (maxReadings: number) =>
    findPage(db, {
      ...{ applicationId: caller.applicationId, vehicleIds: [...members.keys()], areFew: caller.userId !== undefined },
      ...{ after, horizon: state.horizon, limit: maxReadings },
    });
  let page = await find(limit);
  let pieces: readonly Buffer[] = [];
  if (page.count > 0) {
    let batch = await readChanges(db, page, members, bytes);
    if (!batch.isComplete) {
      page = await find(batch.rows);
      batch = await readChanges(db, page, members, bytes);
    }
    pieces = batch.pieces;
  }
  return { pieces, until: page.section.until, more: page.more };
}

/** GET /v1/x/changes, the feed of stored readings (docs/interface.md, "Follow what is stored"). */
export function changeRoutes(answers: Answers): RoutePlugin {
  return (http) => {
    http.get(
      path,
      {
        schema: {
          tags: ['changes'],
          summary: 'Readings in the order in which they were stored, late ones included',
          description:
            `For clients that must miss nothing: each reading is answered at least once, and again whenever it changes, as it
            is now. An \`after\` older than the changes that are kept is refused with the reason EXPIRED.`.replace(
              /\s+/g,
              ' ',
            ),
          answerHeaders: pageHeaders,
          querystring: Query,
          response: responses(Changes),
        },
      },
      async (request, reply) => {
        const { query } = request;
        const limit = Math.min(query.limit, maximumReadings);
        const given = query.after === undefined ? undefined : parseCursor(query.after);
        const reader = readerOf(request);
        let next = '';
        let more = false;
        const body = await answers.open(reader, async ({ snapshot, bytes }) => {
          const page = await readPage(snapshot, reader, { given, limit }, bytes);
          next = formatCursor(page.until);
          more = page.more;
          const [start, end] = ['{"changes":[', `],"next":"${next}","more":${more}}`];
          return { text: Buffer.concat([Buffer.from(start), ...page.pieces, Buffer.from(end)]) };
        });
        return sendPage(reply, body, more ? { path, parameters: { after: next, limit: String(limit) } } : undefined);
      },
    );
  };
}
