import { randomUUID } from 'node:crypto';
import { checkReadings, type DecodedReading } from '@odograph/codec/shared/readings';
import { type Operator, seesApplication } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { maximumClockLeadSeconds, maximumReadingsPerUpload } from '@odograph/contracts/telemetry';
import { findScope } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { findDeviceOwner, findVehicleOwner } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { AppId, answers, DeviceId, VehicleId } from '@odograph/http/schemas';
import type { DurableAdd, TypedQueue } from '@odograph/queue/queues';
import { type Kysely, sql } from 'kysely';
import Type, { type Static } from 'typebox';

/** Maximum waiting jobs with late uploads: an import continues at the pace of ingest instead of filling the queue. */
const maxWaitingJobs = 64;

const ImportRequest = Type.Object({
  appId: Type.Optional(
    Type.Unsafe<string>({ ...AppId, description: 'only for a vehicle or device of this application' }),
  ),
  vehicleId: Type.Optional(VehicleId),
  deviceId: Type.Optional(DeviceId),
  readings: Type.Array(Type.Unknown(), {
    maxItems: maximumReadingsPerUpload,
    description: 'readings as devices upload them (docs/device-protocol.md)',
    examples: [[{ timestamp: 1772440200.25, location: { latitude: 48.8566, longitude: 2.3522 } }]],
  }),
  first: Type.Boolean({ default: false, description: 'the first part of an import, which the audit names' }),
});
const ImportAnswer = Type.Object(
  {
    accepted: Type.Integer({ description: 'readings that are durable in the queue' }),
    faults: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'of the reading in the request' }),
        reason: Type.String({ examples: ['INVALID_FIELD'] }),
        field: Type.Optional(Type.String({ examples: ['location.latitude'] })),
        message: Type.String({ examples: ['location.latitude must be at most 90'] }),
      }),
    ),
  },
  { title: 'ImportedReadings' },
);

type ImportFault = Static<typeof ImportAnswer>['faults'][number];

/** The queue of late uploads. */
interface ImportTarget {
  readonly add: DurableAdd<'late-uploads'>;
  readonly queue: TypedQueue<'late-uploads'>;
}

/**
 * Imports history through the pipeline of all uploads, as late ones, so that links, privacy, trips and gaps apply. The link
 * at each reading's own time decides.
 */
export function importRoutes(db: Kysely<Tables>, target: ImportTarget): RoutePlugin {
  return (http) => {
    http.post(
      '/v1/x/admin/import',
      {
        schema: {
          summary: 'Import readings of another system; repeating them changes nothing',
          description:
            'Give either vehicleId or deviceId. Lists faulty readings, and faulty values (INVALID_VALUE, TOO_LARGE) that are dropped while the rest of their reading is accepted.',
          body: ImportRequest,
          response: answers(ImportAnswer, 'UNKNOWN_VEHICLE', 'UNKNOWN_DEVICE', 'UNKNOWN_APPLICATION'),
        },
      },
      async (request) => {
        const { body, operator } = request;
        const owner = await findOwner(db, operator, body);
        const links = await findLinks(db, body);
        const { uploads, accepted, faults } = distribute(body.readings, links.filter(isSeenBy(operator, owner, body)));
        await enqueue(target, uploads);
        if (body.first) {
          const subject = body.vehicleId === undefined ? `device:${body.deviceId}` : `vehicle:${body.vehicleId}`;
          await auditChange(db, operatorOrigin(request, owner), 'readings.import', subject);
        }
        return { accepted, faults };
      },
    );
  };
}

/** A link between a device and a vehicle; times in microseconds, both unbounded when null. */
interface Link {
  readonly deviceId: string;
  readonly vehicleId: number;
  readonly applicationId: number;
  readonly from: number | null;
  readonly until: number | null;
}

/** Finds the links, past and present, of a device, or of a vehicle. */
async function findLinks(db: Database, { deviceId, vehicleId }: Static<typeof ImportRequest>): Promise<Link[]> {
  const ofDevice = sql<boolean>`device_link.device_id = ${deviceId ?? null}`;
  const ofVehicle = sql<boolean>`device_link.vehicle_id = ${vehicleId ?? null}::integer`;
  const { rows } = await sql<Link>`
    select device_link.device_id as "deviceId", vehicle.id as "vehicleId", vehicle.application_id as "applicationId",
      (extract(epoch from nullif(lower(period), '-infinity')) * 1000000)::bigint as from,
      (extract(epoch from nullif(upper(period), 'infinity')) * 1000000)::bigint as until
    from device_link join vehicle on vehicle.id = device_link.vehicle_id
    where ${vehicleId === undefined ? ofDevice : ofVehicle} and vehicle.deleted_at is null`.execute(db);
  return rows;
}

/**
 * Finds the application of the vehicle or device that is named.
 * @throws Failure UNKNOWN_VEHICLE, UNKNOWN_DEVICE, UNKNOWN_APPLICATION; INVALID_PARAMETER unless exactly one is named
 */
async function findOwner(
  db: Kysely<Tables>,
  operator: Operator,
  { appId, vehicleId, deviceId }: Static<typeof ImportRequest>,
): Promise<number | null> {
  if ((vehicleId === undefined) === (deviceId === undefined)) {
    throw invalidParameter('vehicleId', 'or deviceId must be given, not both');
  }
  const owner = await (vehicleId === undefined
    ? findDeviceOwner(db, operator, deviceId ?? '')
    : findVehicleOwner(db, operator, vehicleId));
  if (appId === undefined || (await findScope(db, operator, appId)) === owner) return owner;
  throw new Failure(vehicleId === undefined ? 'UNKNOWN_DEVICE' : 'UNKNOWN_VEHICLE');
}

/**
 * Tells whether the operator sees the application of a link. A device that changed its application still has links to
 * vehicles of the former one.
 */
const isSeenBy =
  (operator: Operator, owner: number | null, { appId }: Static<typeof ImportRequest>) =>
  ({ applicationId }: Link): boolean =>
    appId === undefined ? seesApplication(operator, applicationId) : applicationId === owner;

const covers = ({ from, until }: Link, time: number): boolean =>
  (from ?? Number.NEGATIVE_INFINITY) <= time && time < (until ?? Number.POSITIVE_INFINITY);

/** Checks readings and assigns each to the device that was linked at its time, in the application of its vehicle. */
function distribute(readings: readonly unknown[], links: readonly Link[]) {
  const { readings: checked, faults: invalid } = checkReadings(readings);
  const faults: ImportFault[] = invalid.map((fault) => ({ ...fault, index: fault.index ?? 0 }));
  const bySender = new Map<string, { link: Link; readings: DecodedReading['reading'][] }>();
  const latest = (Date.now() / 1000 + maximumClockLeadSeconds) * 1e6;
  for (const { index, timeMicroseconds, reading } of checked) {
    const link = links.find((one) => covers(one, timeMicroseconds));
    if (timeMicroseconds > latest) {
      faults.push({ index, reason: 'IN_THE_FUTURE', field: 'timestamp', message: 'timestamp is in the future' });
    } else if (link === undefined) {
      const message = 'no device was linked to a vehicle at that time';
      faults.push({ index, reason: 'DEVICE_NOT_LINKED', field: 'timestamp', message });
    } else {
      const sender = JSON.stringify([link.deviceId, link.applicationId]);
      const own = bySender.get(sender) ?? { link, readings: [] };
      own.readings.push(reading);
      bySender.set(sender, own);
    }
  }
  const receivedAtMs = Date.now();
  const uploads = [...bySender.values()].map(
    ({ link: { deviceId, applicationId }, readings: own }): QueuedUpload => ({
      ...{ deviceId, applicationId, receivedAtMs, isImport: true },
      text: JSON.stringify(own),
    }),
  );
  const accepted = checked.length - (faults.length - invalid.length);
  return { uploads, accepted, faults: faults.sort((one, other) => one.index - other.index) };
}

/** Adds uploads to the queue; resolves once they are durable. @throws Failure OVERLOADED */
async function enqueue({ add, queue }: ImportTarget, uploads: QueuedUpload[]): Promise<void> {
  if (uploads.length === 0) return;
  try {
    if ((await queue.getJobCountByTypes('wait', 'active')) > maxWaitingJobs) {
      throw new Failure('OVERLOADED', 'late uploads are waiting to be stored', { retryAfterSeconds: 1 });
    }
    const bytes = uploads.reduce((sum, { text = '' }) => sum + Buffer.byteLength(text), 0);
    await add({ uploads, devices: uploads.length, bytes }, { jobId: randomUUID() });
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new Failure('OVERLOADED', 'the queue is unavailable', { retryAfterSeconds: 5 }, { cause });
  }
}
