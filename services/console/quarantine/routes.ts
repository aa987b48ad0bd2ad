import { isUtf8 } from 'node:buffer';
import { checkReadings } from '@odograph/codec/shared/readings';
import { readUpload } from '@odograph/codec/uploads';
import type { Operator } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { answers, DeviceId, Flag, isTrue, text, VehicleId, word } from '@odograph/http/schemas';
import { countUnfinishedJobs, type TypedQueue } from '@odograph/queue/queues';
import { quarantineContext, type Sealer } from '@odograph/runtime/sealing';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import {
  countReasons,
  dismissUploads,
  findLastId,
  findPayload,
  findPayloads,
  findQuarantined,
  findUnresolvedPayloads,
  Id,
  idPattern,
  listQuarantine,
  Quarantined,
  Reason,
  requirePresent,
  resealQuarantine,
  type SealedUpload,
  wasLinkedElsewhere,
} from './queries.ts';

const QuarantineQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 1000 }),
  after: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'the last id of the page before' }),
  ),
  order: Type.Optional(word(['oldest', 'newest'], { description: 'which uploads come first; oldest by default' })),
  open: Type.Optional({ ...Flag, description: 'true: neither stored nor dismissed yet' }),
  deviceId: Type.Optional(DeviceId),
  vehicleId: Type.Optional(VehicleId),
  reason: Type.Optional(text(1, 64, { description: 'only uploads with a fault of this reason', examples: ['FUTURE'] })),
});

function addReadRoutes(http: Http, db: Database): void {
  http.get(
    '/v1/x/admin/quarantine',
    {
      schema: {
        summary: 'List quarantined uploads with their faults',
        querystring: QuarantineQuery,
        response: answers(Type.Object({ quarantine: Type.Array(Quarantined) }), 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ query: { open, vehicleId, order = 'oldest', ...search }, operator }) => {
      const quarantine = await listQuarantine(db, operator, {
        ...search,
        order,
        isOpen: open === undefined ? undefined : isTrue(open),
        vehicleId: vehicleId === undefined ? undefined : await findVisibleVehicle(db, operator, vehicleId),
      });
      return { quarantine };
    },
  );

  http.get(
    '/v1/x/admin/quarantine/reasons',
    {
      schema: {
        summary: 'Count the open quarantined uploads by the reasons of their faults',
        response: answers(Type.Object({ reasons: Type.Array(Reason) })),
      },
    },
    async ({ operator }) => ({ reasons: await countReasons(db, operator) }),
  );

  http.get(
    '/v1/x/admin/quarantine/:id',
    {
      schema: {
        summary: 'Show a quarantined upload',
        params: Type.Object({ id: Type.String({ examples: ['17'] }) }),
        response: answers(Quarantined, 'NOT_FOUND'),
      },
    },
    async ({ params: { id }, operator }) => {
      if (!new RegExp(idPattern).test(id)) throw new Failure('NOT_FOUND', 'no quarantined upload has this id');
      return findQuarantined(db, operator, Number(id));
    },
  );
}

/** Payloads may contain positions of a privacy interval: they are sealed, and each access is recorded in the audit. */
function addOpenRoute(http: Http, db: Database, { sealer }: ReplayTarget): void {
  http.post(
    '/v1/x/admin/quarantine/:id/open',
    {
      schema: {
        summary: 'Open the payload of a quarantined upload; the access is recorded in the audit',
        params: Type.Object({ id: Id }),
        body: Type.Object({ id: Id }),
        response: answers(
          Type.Object({
            id: Id,
            deviceId: DeviceId,
            base64: Type.String({ examples: ['eyJ0aW1lc3RhbXAiOjF9'] }),
            readings: Type.Array(Type.Unknown(), {
              description: 'what the format of the upload says, before it is checked; empty when it cannot be read',
              examples: [[{ timestamp: 1 }]],
            }),
          }),
          'UNAUTHORIZED',
          'NOT_FOUND',
        ),
      },
    },
    async (request) => {
      const { id } = request.body;
      const upload = await findPayload(db, request.operator, Number(id));
      if (!upload) throw new Failure('NOT_FOUND', 'no quarantined upload has this id');
      const { deviceId, sealed, format, receivedAtMs } = upload;
      const payload = sealer.open(sealed, quarantineContext(deviceId));
      const readings = readUpload(format, payload, receivedAtMs);
      await requireOwnReadings(db, request.operator, upload, readings);
      await auditChange(db, operatorOrigin(request), 'quarantine.open', `quarantine:${id}`, { deviceId });
      return { id, deviceId, base64: payload.toString('base64'), readings: readings.map((reading) => reading ?? null) };
    },
  );
}

/**
 * Checks that an upload holds no reading of a vehicle of another application: the device may have been linked to one at the
 * time of the reading. A reading without a valid time counts as one of any time.
 * @throws Failure UNAUTHORIZED
 */
async function requireOwnReadings(
  db: Database,
  operator: Operator,
  { deviceId, applicationId }: SealedUpload,
  readings: readonly unknown[],
): Promise<void> {
  if (applicationId !== null) return;
  const dated = checkReadings(readings).readings.map(({ timeMicroseconds }) => timeMicroseconds);
  const areDated = readings.length > 0 && dated.length === readings.length;
  if (!(await wasLinkedElsewhere(db, operator, deviceId, areDated ? dated : undefined))) return;
  throw new Failure('UNAUTHORIZED', 'the upload may hold readings of a vehicle of another application');
}

function addResealRoute(http: Http, db: Database, { sealer }: ReplayTarget): void {
  http.post(
    '/v1/x/admin/quarantine/reseal',
    {
      schema: {
        summary: 'Seal every quarantined upload under the first of ENCRYPTION_KEYS, so that the others can be removed',
        response: answers(
          Type.Object(
            { resealed: Type.Integer(), unreadable: Type.Integer(), total: Type.Integer() },
            { title: 'Resealed' },
          ),
        ),
      },
    },
    async (request) => {
      const counted = await resealQuarantine(db, sealer);
      await auditChange(db, operatorOrigin(request), 'quarantine.reseal', 'quarantine', { ...counted });
      return counted;
    },
  );
}

/** Operator routes for quarantined uploads: list, open, replay, dismiss and reseal. */
export function quarantineRoutes(db: Kysely<Tables>, target: ReplayTarget): RoutePlugin {
  return (http) => {
    addReadRoutes(http, db);
    addOpenRoute(http, db, target);
    addReplayRoute(http, db, target);
    addDismissRoute(http, db);
    addResealRoute(http, db, target);
  };
}

function addReplayRoute(http: Http, db: Database, target: ReplayTarget): void {
  http.post(
    '/v1/x/admin/quarantine/replay',
    {
      schema: {
        summary: 'Replay quarantined uploads through ingest: the given ones, or all unresolved ones',
        body: Type.Object({
          ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 10_000 })),
          all: Type.Optional(Type.Literal(true)),
        }),
        exactlyOne: ['ids', 'all'],
        response: answers(Type.Object({ replayed: Type.Integer() }), 'NOT_FOUND'),
      },
    },
    async (request) => {
      const { ids, all } = request.body;
      const { operator } = request;
      if ((ids === undefined) === (all === undefined)) throw invalidParameter('ids', 'or all is required, not both');
      const replayed =
        ids === undefined
          ? await replayUnresolved(db, target, operator)
          : await replayUploads(db, target, { operator, ids: ids.map(Number) });
      await auditChange(db, operatorOrigin(request), 'quarantine.replay', 'quarantine', { replayed });
      return { replayed };
    },
  );
}

function addDismissRoute(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/quarantine/dismiss',
    {
      schema: {
        summary: 'Dismiss quarantined uploads that will never be stored',
        body: Type.Object({
          ids: Type.Array(Id, { minItems: 1, maxItems: 1000 }),
          reason: text(1, 1000, { examples: ['a device under test'] }),
        }),
        response: answers(Type.Object({ dismissed: Type.Integer() }), 'NOT_FOUND'),
      },
    },
    async (request) => {
      const { ids, reason } = request.body;
      const numbers = ids.map(Number);
      await requirePresent(db, request.operator, numbers);
      const dismissed = await db.transaction().execute(async (trx) => {
        const dismissedIds = await dismissUploads(trx, numbers, reason);
        for (const id of dismissedIds) {
          await auditChange(trx, operatorOrigin(request), 'quarantine.dismiss', `quarantine:${id}`, { reason });
        }
        return dismissedIds.length;
      });
      return { dismissed };
    },
  );
}

/** Uploads have at most 256 KiB, so a job stays within 8 MiB. */
const uploadsPerJob = 32;

interface ReplayTarget {
  readonly sealer: Sealer;
  readonly queue: TypedQueue<'uploads'>;
  /** With more jobs waiting, a replay is refused: it must not delay uploads from devices. */
  readonly maximumBacklogJobs: number;
}

/** Rebuilds the upload byte for byte as it was received. */
function describeUpload(upload: SealedUpload, payload: Buffer): QueuedUpload {
  const { id, deviceId, receivedAtMs, format, applicationId } = upload;
  const origin = {
    ...{ deviceId, receivedAtMs: Math.floor(receivedAtMs), format, quarantineId: String(id) },
    ...(applicationId !== null && { applicationId }),
  };
  return { ...origin, ...(isUtf8(payload) ? { text: payload.toString() } : { base64: payload.toString('base64') }) };
}

async function enqueue({ queue, sealer, maximumBacklogJobs }: ReplayTarget, uploads: SealedUpload[]): Promise<void> {
  if (uploads.length === 0) return;
  const payloads = uploads.map(({ deviceId, sealed }) => sealer.open(sealed, quarantineContext(deviceId)));
  try {
    const waiting = await countUnfinishedJobs(queue);
    if (waiting > maximumBacklogJobs)
      throw new Failure('OVERLOADED', 'too many uploads are waiting to be stored', { retryAfterSeconds: 5 });
    await queue.add('uploads', {
      uploads: uploads.map((upload, index) => describeUpload(upload, payloads[index] ?? Buffer.alloc(0))),
      devices: new Set(uploads.map(({ deviceId }) => deviceId)).size,
      bytes: payloads.reduce((sum, payload) => sum + payload.length, 0),
    });
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new Failure('OVERLOADED', 'the queue is unavailable', { retryAfterSeconds: 5 }, { cause });
  }
}

/**
 * Replays quarantined uploads through ingest, resolved ones too: storing a reading twice is idempotent. Skips rows that only
 * count uploads beyond the quota: a replay would overwrite their reason.
 * @returns the number of replayed uploads. @throws Failure NOT_FOUND when one does not exist (then none is replayed),
 * OVERLOADED
 */
async function replayUploads(
  db: Database,
  target: ReplayTarget,
  { operator, ids }: { operator: Operator; ids: readonly number[] },
): Promise<number> {
  const distinct = [...new Set(ids)];
  await requirePresent(db, operator, distinct);
  let replayed = 0;
  for (let start = 0; start < distinct.length; start += uploadsPerJob) {
    const uploads = await findPayloads(db, operator, distinct.slice(start, start + uploadsPerJob));
    await enqueue(target, uploads);
    replayed += uploads.length;
  }
  return replayed;
}

/**
 * Replays every upload that the operator sees and that is unresolved at the start, except those sealed with a key that is
 * no longer in ENCRYPTION_KEYS. @returns the number of uploads. @throws Failure OVERLOADED
 */
async function replayUnresolved(db: Database, target: ReplayTarget, operator: Operator): Promise<number> {
  const last = await findLastId(db);
  let replayed = 0;
  for (let after = 0; ; ) {
    const payloads = await findUnresolvedPayloads(db, operator, { after, last, limit: uploadsPerJob });
    // Uploads sealed with a dropped key must not block the others.
    const opened = payloads.filter(({ sealed }) => target.sealer.canOpen(sealed));
    await enqueue(target, opened);
    replayed += opened.length;
    const next = payloads.at(-1)?.id;
    if (next === undefined) return replayed;
    after = next;
  }
}
