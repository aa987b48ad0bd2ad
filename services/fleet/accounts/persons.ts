import { randomUUID } from 'node:crypto';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { findListed } from '@odograph/database/accounts';
import { auditChange, operatorChain, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { lockGroups } from '@odograph/database/vehicle-groups';
import type { Http } from '@odograph/http/http';
import { AppId, answers, text } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';

const PersonPath = Type.Object({ id: text(1, 256, { description: 'driver or user', examples: ['driver-17'] }) });
const Scope = Type.Object({
  appId: Type.Optional(Type.Unsafe<string>({ ...AppId, description: 'required if several applications know the id' })),
});
const Rows = Type.Array(Type.Record(Type.String(), Type.Unknown(), { examples: [{}] }));
const Exported = Type.Object(
  {
    account: Rows,
    grants: Rows,
    groupGrants: Rows,
    sessions: Rows,
    requests: Rows,
    commands: Rows,
    bookings: Rows,
    authorizations: Rows,
    trips: Rows,
    shares: Rows,
    mileage: Rows,
    audit: Rows,
  },
  { title: 'PersonExport' },
);
const Erased = Type.Object(
  {
    pseudonym: Type.String({ description: 'what replaces the id from now on', examples: ['erased-4f1c2a'] }),
    changed: Type.Record(Type.String(), Type.Integer(), {
      description: 'number of changed rows by kind',
      examples: [{ bookings: 2 }],
    }),
  },
  { title: 'ErasedPerson' },
);

/** Operator routes that export and erase the data of a driver or user. */
export const persons: FleetRoutes = { operator: [addPersonRoutes] };

function addPersonRoutes(http: Http, { db }: Fleet): void {
  const exportSchema = {
    summary: 'Export everything stored about a driver or user',
    params: PersonPath,
    querystring: Scope,
    response: answers(Exported, 'UNKNOWN_APPLICATION', 'UNKNOWN_USER'),
  };
  http.get('/v1/x/admin/persons/:id', { schema: exportSchema }, async ({ params, query, ip, operator }) => {
    const person = await findPerson(db, params.id, await findListed(db, operator, query.appId));
    const subject = `${person.accountId === null ? 'driver' : 'user'}:${person.ids[0]}`;
    // Not in the snapshot of the export, which others that write to the same audit would make fail.
    await auditChange(db, operatorOrigin({ ip, operator }, person.applicationId), 'person.export', subject);
    return db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute((trx) => exportPerson(trx, person));
  });

  const eraseSchema = {
    summary: 'Erase a driver or user: replaces the id everywhere by an irreversible pseudonym',
    params: PersonPath,
    body: Scope,
    response: answers(Erased, 'UNKNOWN_APPLICATION', 'UNKNOWN_USER', 'NOT_ALL_AUTHORIZATIONS_REVOKED'),
  };
  http.post('/v1/x/admin/persons/:id/erase', { schema: eraseSchema }, async ({ params, body, ip, operator }) => {
    const scope = await findListed(db, operator, body.appId);
    return db.transaction().execute(async (trx) => {
      const person = await findPerson(trx, params.id, scope);
      await lockGroups(trx, person.applicationId);
      await requireNothingOpen(trx, person);
      const erased = await erasePerson(trx, person);
      const subject = `person:${erased.pseudonym}`;
      await auditChange(trx, operatorOrigin({ ip, operator }, person.applicationId), 'person.erase', subject, {
        ...erased.changed,
      });
      return erased;
    });
  });
}

/** A driver or user of one application. */
interface Person {
  readonly applicationId: number;
  /** Every text by which rows name the person: the driver id, or the account id and the user name, as they are spelled. */
  readonly ids: readonly string[];
  readonly accountId: string | null;
}

async function findAccounts(db: Database, id: string, among: readonly number[] | undefined): Promise<Person[]> {
  const accounts = await db
    .selectFrom('user_account')
    .select(['id', 'application_id', 'username'])
    .where((where) =>
      where.or([where(sql`lower(username)`, '=', id.toLowerCase()), ...(isUuid(id) ? [where('id', '=', id)] : [])]),
    )
    .$if(among !== undefined, (query) => query.where(sql<boolean>`application_id = any (${among ?? []}::integer[])`))
    .execute();
  return accounts.map((account) => ({
    applicationId: account.application_id,
    ids: [account.id, account.username],
    accountId: account.id,
  }));
}

/** SQL for the names of persons in the details of an audit row, as a list. */
const namesInDetails = sql`details ->> 'driver', details ->> 'userId'`;

/** Finds drivers, also in the mileage log and the audit, which are kept longer than bookings and authorizations. */
async function findDrivers(db: Database, id: string, among: readonly number[] | undefined): Promise<Person[]> {
  const { rows } = await sql<{ application_id: number }>`
    select application_id from booking where user_id = ${id}
    union select application_id from bluetooth_authorization join vehicle on vehicle.id = vehicle_id where driver_id = ${id}
    union select application_id from mileage_entry where driver = ${id}
    union select chain from audit where chain <> ${operatorChain} and (subject = concat('driver:', ${id}::text)
      or ${id} in (${namesInDetails}))
    order by 1`.execute(db);
  return rows
    .map(({ application_id }) => ({ applicationId: application_id, ids: [id], accountId: null }))
    .filter((person) => among === undefined || among.includes(person.applicationId));
}

/**
 * Lists the texts by which rows of the application name an account: its id and its user name, in any case. A name that
 * another account has, too, counts as it is spelled only: user names are used again after a deletion.
 */
async function findNames(db: Database, { applicationId, ids, accountId }: Person): Promise<string[]> {
  const names = sql`array(select lower(one) from unnest(${[...ids]}::text[]) as one
    where not exists (select from user_account another where another.application_id = ${applicationId}
      and another.id <> ${accountId} and lower(another.username) = lower(one)))`;
  const { rows } = await sql<{ name: string }>`
    select user_id as name from booking
      where application_id = ${applicationId} and (account_id = ${accountId} or lower(user_id) = any (${names}))
    union select driver_id from bluetooth_authorization join vehicle on vehicle.id = vehicle_id
      where application_id = ${applicationId} and lower(driver_id) = any (${names})
    union select driver from mileage_entry where application_id = ${applicationId} and lower(driver) = any (${names})
    union select name from audit,
        unnest(array[${namesInDetails}, substring(subject from '^(?:user|driver):(.*)$')]) as named (name)
      where chain = ${applicationId} and lower(name) = any (${names})`.execute(db);
  return [...new Set([...ids, ...rows.map(({ name }) => name)])];
}

/**
 * Finds a person by account id, user name or driver id, in some applications or in all.
 * @throws Failure UNKNOWN_USER, or INVALID_PARAMETER naming `appId` if several applications have such a person
 */
async function findPerson(db: Database, id: string, among: readonly number[] | undefined): Promise<Person> {
  const accounts = await findAccounts(db, id, among);
  // Within an application, rows with the name of an account belong to that account.
  const owners = new Set(accounts.map(({ applicationId }) => applicationId));
  const drivers = (await findDrivers(db, id, among)).filter(({ applicationId }) => !owners.has(applicationId));
  const [person, another] = [...accounts, ...drivers];
  if (!person) throw new Failure('UNKNOWN_USER');
  if (another) throw invalidParameter('appId', 'is required: several applications have a person with this id');
  return person.accountId === null ? person : { ...person, ids: await findNames(db, person) };
}

/** Fails unless every booking and authorization of a person has ended. @throws Failure NOT_ALL_AUTHORIZATIONS_REVOKED */
async function requireNothingOpen(db: Database, { applicationId, ids }: Person): Promise<void> {
  const { rows } = await sql<{ open: boolean }>`select
    exists (select from booking where application_id = ${applicationId} and user_id = any (${[...ids]}::text[])
      and deleted_at is null and stopped_at is null and coalesce(ends_at, 'infinity') > now())
    or exists (select from bluetooth_authorization join vehicle on vehicle.id = vehicle_id
      where application_id = ${applicationId} and driver_id = any (${[...ids]}::text[])
        and revoked_at is null and replaced_by is null and valid_until > now()) as open`.execute(db);
  if (rows[0]?.open === true) {
    throw new Failure(
      'NOT_ALL_AUTHORIZATIONS_REVOKED',
      'the person still has bookings or authorizations: end them first (DELETE /v1/user/{userid})',
    );
  }
}

/** Replaces every id of a person by a random pseudonym. @returns the pseudonym and the number of changed rows by kind */
async function erasePerson(db: Database, { applicationId, ids, accountId }: Person) {
  const pseudonym = randomUUID();
  // Before the account is deleted: triggers then still find, and revoke, the authorizations that it issued for others.
  await db.deleteFrom('group_grant').where('user_id', '=', accountId).execute();
  const { rows } = await sql<{ changed: Record<string, number>; mileage: number }>`select
    erase_mileage_entries(${applicationId}, ${[...ids]}::text[], ${`erased-${pseudonym}`}) as mileage,
    erase_person(${applicationId}, ${[...ids]}::text[], ${accountId}, ${pseudonym}) as changed`.execute(db);
  const [row] = rows;
  return { pseudonym: `erased-${pseudonym}`, changed: { ...row?.changed, mileageEntries: row?.mileage ?? 0 } };
}

const exports = {
  account: (person: Person) => sql`select id, username, created_at, deleted_at from user_account
    where id = ${person.accountId}`,
  grants: (person: Person) => sql`select vehicle_id, created_at from vehicle_grant where user_id = ${person.accountId}`,
  groupGrants: (person: Person) => sql`select group_id, role, created_at from group_grant
    where user_id = ${person.accountId}`,
  sessions: (person: Person) => sql`select session.created_at, revoked_at, address, browser
    from session left join sign_in on session_id = session.id where user_id = ${person.accountId}`,
  requests: (person: Person) => sql`select plate, request, state, created_at, decided_at from vehicle_request
    where user_id = ${person.accountId}`,
  commands: (person: Person) => sql`select id, vehicle_id, action, state, created_at, ended_at from command
    where user_id = ${person.accountId} order by created_at`,
  bookings: ({
    applicationId,
    ids,
  }: Person) => sql`select id, vehicle_id, type, starts_at, ends_at, stopped_at, deleted_at
    from booking where application_id = ${applicationId} and user_id = any (${[...ids]}::text[]) order by starts_at`,
  authorizations: ({ applicationId, ids }: Person) => sql`
    select authorized.id, vehicle_id, level, valid_from, valid_until, suspended_until, revoked_at
    from bluetooth_authorization authorized join vehicle on vehicle.id = vehicle_id
    where application_id = ${applicationId} and driver_id = any (${[...ids]}::text[]) order by valid_from`,
  trips: ({ applicationId, ids }: Person) => sql`
    select trip.id, trip.vehicle_id, started_at, ended_at, distance_km, first_latitude, first_longitude, last_latitude,
      last_longitude
    from trip join booking on booking.vehicle_id = trip.vehicle_id and started_at >= starts_at
      and started_at < coalesce(ends_at, 'infinity')
    where application_id = ${applicationId} and user_id = any (${[...ids]}::text[]) and booking.deleted_at is null
    order by started_at`,
  shares: (person: Person) => sql`select id, vehicle_id, created_at, ends_at, ended_at, views from share
    where user_id = ${person.accountId} order by created_at`,
  mileage: ({ applicationId, ids }: Person) => sql`select * from mileage_entry where application_id = ${applicationId}
    and (driver = any (${[...ids]}::text[])
      or entered_by = any (select 'user:' || one from unnest(${[...ids]}::text[]) as one))
    order by entered_at`,
  audit: ({ applicationId, ids }: Person) => sql`select at, actor, address, action, subject, details, outcome from audit
    where chain = ${applicationId} and (
      actor = any (select 'user:' || one from unnest(${[...ids]}::text[]) as one)
      or subject = any (select kind || one from unnest(${[...ids]}::text[]) as one, unnest(array['user:', 'driver:']) as kind)
      or array[${namesInDetails}] && ${[...ids]}::text[])
    order by position`,
} as const;

/** Everything stored about a person, by kind; trips are those that started during the person's bookings. */
type PersonExport = Record<keyof typeof exports, unknown[]>;

/** Collects everything stored about a person; run it in a repeatable-read transaction. */
async function exportPerson(db: Database, person: Person): Promise<PersonExport> {
  const collected: Partial<PersonExport> = {};
  for (const [kind, select] of Object.entries(exports) as [keyof typeof exports, (typeof exports)['audit']][]) {
    collected[kind] = (await select(person).execute(db)).rows;
  }
  return collected as PersonExport;
}
