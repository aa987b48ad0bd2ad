import { createHash } from 'node:crypto';
import { decodeFile } from '@odograph/codec/can/dbc-tokens';
import { compileModelDatabase, readShipped, shippedDatabases } from '@odograph/codec/can/decode';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds, parseOptionalTimestamp } from '@odograph/contracts/timestamps';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import type { Http } from '@odograph/http/http';
import { answers, EmptyAnswer, moment, text, timestamp, word } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';

/** Of a DBC file. Those of makers stay below 2 MiB; a file of this size is read in a second. */
const maxFileBytes = 4 * 1024 * 1024;
const maxBase64Length = Math.ceil(maxFileBytes / 3) * 4;
/** For the other members of the body. */
const spareBytes = 64 * 1024;

const ModelName = text(1, 64, { description: 'model of vehicles, ignoring case', examples: ['Zoe'] });
const NamePath = Type.Object({ name: ModelName });
const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Sha256 = Type.String({ description: 'of the file, hexadecimal', examples: ['9f86d081884c7d659a2feaa0c55ad015'] });

const contents = {
  file: Type.String({ description: 'name of the file', examples: ['zoe.dbc'] }),
  sha256: Sha256,
  messages: Count('messages in the file'),
  signals: Count('signals in the file'),
  positionKeys: Type.Array(Type.String({ examples: ['GPS_Latitude'] }), {
    description: 'keys of values that are not stored in privacy intervals',
  }),
};
const ListedDatabase = Type.Object(
  { model: ModelName, ...contents, importedAt: moment('of the import'), vehicles: Count('vehicles of the model') },
  { title: 'CanDatabase' },
);
const Fault = Type.Object(
  {
    line: Type.Integer({ minimum: 1, examples: [17] }),
    message: Type.String({ examples: ['signal Speed needs 9 bytes; its message has 8'] }),
  },
  { title: 'CanDatabaseFault' },
);
const Imported = Type.Object(
  {
    model: ModelName,
    ...contents,
    stored: Type.Boolean({ description: 'false: the file has faults, or with skipFaulty nothing that could be used' }),
    faults: Type.Array(Fault, { description: 'by line; with skipFaulty, what was skipped and why' }),
  },
  { title: 'CanDatabaseImport' },
);
const Content = Type.Object({
  shipped: Type.Optional(word(shippedDatabases, { description: 'a DBC file that ships with Odograph' })),
  base64: Type.Optional(
    Type.String({
      ...{ minLength: 4, maxLength: maxBase64Length, pattern: '^[A-Za-z0-9+/]*={0,2}$' },
      description: 'a DBC file of at most 4 MiB, in UTF-8 or cp1252',
      examples: ['VkVSU0lPTiAiIgpCT18gMSBNOiA4IFgK'],
    }),
  ),
  file: Type.Optional(text(1, 256, { description: 'name of the file, to recognize it', examples: ['zoe.dbc'] })),
  skipFaulty: Type.Optional(
    Type.Boolean({ default: false, description: 'store a file with faults, without the statements at fault' }),
  ),
});

async function readContent({ shipped, base64, file }: Type.Static<typeof Content>) {
  if ((shipped === undefined) === (base64 === undefined)) {
    throw invalidParameter('base64', 'must be given, or else shipped, but not both');
  }
  if (shipped !== undefined) return { file: `${shipped}.dbc`, dbc: decodeFile(await readShipped(shipped)) };
  return { file: file ?? '', dbc: decodeFile(Buffer.from(base64 ?? '', 'base64')) };
}

/** Reads a DBC file with its faults; PostgreSQL cannot store text with NUL. */
function inspect(dbc: string) {
  const { messages, signals, positionKeys, faults, isUsable } = compileModelDatabase(dbc);
  const nul = dbc.indexOf('\0');
  const nulFaults = nul === -1 ? [] : [{ line: dbc.slice(0, nul).split('\n').length, message: 'unexpected NUL' }];
  const sha256 = createHash('sha256').update(dbc).digest('hex');
  const contained = { messages, signals, positionKeys: [...positionKeys], sha256 };
  const all = [...nulFaults, ...faults].map(({ line, message }) => ({ line, message }));
  return { contained, faults: all, isUsable: isUsable && nul === -1 };
}

function addDatabaseRoutes(http: Http, { db }: Fleet): void {
  const listSchema = {
    summary: 'List the DBC files by which raw CAN frames are decoded',
    response: answers(Type.Object({ databases: Type.Array(ListedDatabase) })),
  };
  http.get('/v1/x/admin/can-databases', { schema: listSchema }, async () => ({
    databases: await listCanDatabases(db),
  }));

  const deleteSchema = {
    summary: 'Remove the DBC file of a vehicle model; values that were decoded by it stay',
    params: NamePath,
    response: answers(EmptyAnswer, 'NOT_FOUND'),
  };
  http.delete(
    '/v1/x/admin/can-databases/:name',
    { schema: deleteSchema },
    async ({ params: { name }, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        if (!(await removeCanDatabase(trx, name))) throw new Failure('NOT_FOUND', 'the model has no DBC file');
        const subject = `can-database:${name}`;
        await auditChange(trx, operatorOrigin({ ip, operator }), 'can-database.remove', subject);
      });
      return {};
    },
  );
}

function addImportRoute(http: Http, { db }: Fleet): void {
  const importOptions = {
    bodyLimit: maxBase64Length + spareBytes,
    schema: {
      summary:
        'Store or replace the DBC file of a vehicle model, unless it has a fault and skipFaulty is false; it applies to frames at once',
      params: NamePath,
      body: Content,
      response: answers(Imported),
    },
  };
  http.put(
    '/v1/x/admin/can-databases/:name',
    importOptions,
    async ({ params: { name: model }, body, ip, operator }) => {
      const { file, dbc } = await readContent(body);
      const { contained, faults, isUsable } = inspect(dbc);
      const { sha256, messages } = contained;
      const stored = isUsable && (faults.length === 0 || body.skipFaulty === true);
      const answer = { model, file, ...contained, stored, faults };
      if (!stored) return answer;
      await db.transaction().execute(async (trx) => {
        await storeCanDatabase(trx, { model, file, dbc, ...contained });
        await auditChange(trx, operatorOrigin({ ip, operator }), 'can-database.set', `can-database:${model}`, {
          file,
          sha256,
          messages,
          ...(faults.length > 0 && { skipped: faults.length }),
        });
      });
      return answer;
    },
  );
}

const Id = Type.String({ pattern: '^[1-9][0-9]{0,14}$', examples: ['17'] });
const Redecoding = Type.Object(
  {
    id: Id,
    model: ModelName,
    requestedAt: moment('of the request'),
    finishedAt: Type.Union([moment('of the end'), Type.Null()], { description: 'null while it is in progress' }),
    vehicles: Count('vehicles of the model'),
    vehiclesDone: Count('vehicles that are done'),
    readingsDone: Count('readings that were looked at, those without frames included'),
    readingsChanged: Count('readings whose values changed'),
  },
  { title: 'CanRedecoding' },
);

function addRedecodingRoutes(http: Http, { db }: Fleet): void {
  const redecodeSchema = {
    summary: 'Decode the stored CAN frames of a vehicle model again, with its present DBC file',
    body: Type.Object({
      model: ModelName,
      from: Type.Optional(timestamp('device time from which on readings are decoded')),
      until: Type.Optional(timestamp('device time until which readings are decoded, exclusive')),
    }),
    response: answers(Redecoding, 'NOT_FOUND', 'INVALID_INTERVAL'),
  };
  http.post(
    '/v1/x/admin/can-redecodings',
    { schema: redecodeSchema },
    async ({ body: { model, ...interval }, ip, operator }) => {
      const from = parseOptionalTimestamp('from', interval.from);
      const until = parseOptionalTimestamp('until', interval.until);
      if (from !== undefined && until !== undefined && until <= from) throw new Failure('INVALID_INTERVAL');
      const [lower, upper] = [from, until].map((one) => (one === undefined ? undefined : isoMicroseconds(one)));
      const created = await db.transaction().execute(async (trx) => {
        const id = await requestRedecoding(trx, model, { from: lower, until: upper });
        if (id === undefined) throw new Failure('NOT_FOUND', 'the model has no DBC file');
        await auditChange(trx, operatorOrigin({ ip, operator }), 'can-redecoding.request', `can-database:${model}`, {
          id,
          from: lower ?? null,
          until: upper ?? null,
        });
        return findRedecoding(trx, id);
      });
      if (!created) throw new Error('the request was not stored');
      return created;
    },
  );

  const progressSchema = {
    summary: 'Show how far the decoding of stored CAN frames is',
    params: Type.Object({ id: Id }),
    response: answers(Redecoding, 'NOT_FOUND'),
  };
  http.get('/v1/x/admin/can-redecodings/:id', { schema: progressSchema }, async ({ params: { id } }) => {
    const found = await findRedecoding(db, id);
    if (!found) throw new Failure('NOT_FOUND', 'no request has this id');
    return found;
  });
}

/** Operator routes for the DBC files of vehicle models, and for decoding stored frames again. */
export const canDatabases: FleetRoutes = { operator: [addDatabaseRoutes, addImportRoute, addRedecodingRoutes] };

/** A DBC file to store, checked. */
type NewCanDatabase = Omit<Type.Static<typeof ListedDatabase>, 'importedAt' | 'vehicles'> & { readonly dbc: string };

/** Lists the DBC files by model. */
async function listCanDatabases(db: Database): Promise<Type.Static<typeof ListedDatabase>[]> {
  const { rows } = await sql<Type.Static<typeof ListedDatabase>>`
    select model, file, sha256, messages, signals, position_keys as "positionKeys", ${isoTime('imported_at')} as "importedAt",
      (select count(*)::integer from vehicle where lower(vehicle.model) = lower(can_database.model) and deleted_at is null) as vehicles
    from can_database order by lower(model)`.execute(db);
  return rows;
}

/** Stores the DBC file of a model, or replaces it. Requests to decode frames of the model again start from the beginning. */
async function storeCanDatabase(db: Database, given: NewCanDatabase): Promise<void> {
  const { model, file, dbc, sha256, messages, signals, positionKeys } = given;
  await sql`insert into can_database (model, file, dbc, sha256, messages, signals, position_keys)
    values (${model}, ${file}, ${dbc}, ${sha256}, ${messages}, ${signals}, ${[...positionKeys]}::text[])
    on conflict (lower(model)) do update set model = excluded.model, file = excluded.file, dbc = excluded.dbc,
      sha256 = excluded.sha256, messages = excluded.messages, signals = excluded.signals,
      position_keys = excluded.position_keys, imported_at = now()`.execute(db);
  await sql`update can_redecoding set vehicle_id = null, time = null, vehicles_done = 0, readings_done = 0, readings_changed = 0
    where lower(model) = lower(${model}) and finished_at is null`.execute(db);
}

/** Removes the DBC file of a model. Values that were decoded by it stay. @returns whether there was one */
async function removeCanDatabase(db: Database, model: string): Promise<boolean> {
  const { rows } = await sql`delete from can_database where lower(model) = lower(${model}) returning model`.execute(db);
  await sql`update can_redecoding set finished_at = clock_timestamp()
    where lower(model) = lower(${model}) and finished_at is null`.execute(db);
  return rows.length > 0;
}

/**
 * Requests that the frames of a model are decoded again.
 * @param interval device times in ISO 8601, half-open; undefined for no bound
 * @returns the id of the request; undefined if the model has no DBC file
 */
async function requestRedecoding(
  db: Database,
  model: string,
  interval: { readonly from: string | undefined; readonly until: string | undefined },
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`insert into can_redecoding (model, from_time, until_time)
    select model, ${interval.from ?? null}::timestamptz, ${interval.until ?? null}::timestamptz from can_database
    where lower(model) = lower(${model}) returning id::text`.execute(db);
  return rows[0]?.id;
}

/** Finds a request to decode frames again. */
async function findRedecoding(db: Database, id: string): Promise<Type.Static<typeof Redecoding> | undefined> {
  const { rows } = await sql<Type.Static<typeof Redecoding>>`
    select id::text, model, ${isoTime('requested_at')} as "requestedAt", ${isoTime('finished_at')} as "finishedAt",
      vehicles_done as "vehiclesDone", readings_done as "readingsDone", readings_changed as "readingsChanged",
      (select count(*)::integer from vehicle where lower(vehicle.model) = lower(can_redecoding.model) and deleted_at is null)
        as vehicles
    from can_redecoding where id = ${id}::bigint`.execute(db);
  return rows[0];
}
