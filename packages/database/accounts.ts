import {
  type ApiKey,
  type Caller,
  mustAddSecondFactor,
  type Operator,
  type OperatorRole,
  type SignedIn,
  type SignInMethod,
  sessionIdleHours,
} from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Config } from '@odograph/runtime/config';
import { isInNetworks, parseNetworks } from '@odograph/runtime/network-address';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Finds the caller that an access token was issued to.
 * @param tokenSha256 hash of the token, as stored
 * @throws Failure INVALID_TOKEN for an unknown or revoked token or one of a deleted user; TOKEN_EXPIRED
 */
export async function findCaller(db: Database, tokenSha256: Buffer): Promise<Caller> {
  const row = await db
    .selectFrom('access_token')
    .innerJoin('session', 'session.id', 'access_token.session_id')
    .innerJoin('application', 'application.id', 'session.application_id')
    .leftJoin('user_account', 'user_account.id', 'session.user_id')
    .select([
      ...(['session.application_id', 'session.user_id', 'application.moving_since'] as const),
      sql<boolean>`access_token.expires_at <= now()`.as('expired'),
    ])
    .where('access_token.token_sha256', '=', tokenSha256)
    .where('session.revoked_at', 'is', null)
    .where('user_account.deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw new Failure('INVALID_TOKEN');
  if (row.expired) throw new Failure('TOKEN_EXPIRED');
  const { application_id: applicationId, user_id: userId, moving_since: movingSince } = row;
  return { applicationId, ...(userId !== null && { userId }), ...(movingSince !== null && { isMoving: true }) };
}

/** A request authenticated with an API key. */
export interface KeyCaller extends Caller {
  readonly apiKey: ApiKey;
}

/**
 * Finds the application that an API key belongs to.
 * @param keySha256 hash of the key, as stored
 * @param address network address of the client
 * @throws Failure INVALID_TOKEN if the key is unknown, its application deleted or the address not permitted; TOKEN_EXPIRED
 */
export async function findApiKey(db: Database, keySha256: Buffer, address: string): Promise<KeyCaller> {
  const row = await db
    .selectFrom('api_key')
    .innerJoin('application', 'application.id', 'api_key.application_id')
    .select(['api_key.id', 'api_key.name', 'scopes', 'networks', 'application_id as applicationId', 'moving_since'])
    .select(sql<boolean>`coalesce(expires_at <= now(), false)`.as('expired'))
    .where('key_sha256', '=', keySha256)
    .where('application.deleted_at', 'is', null)
    .executeTakeFirst();
  const isPermitted =
    row && (row.networks.length === 0 || isInNetworks(address, parseNetworks(row.networks.join(',')) ?? []));
  if (!isPermitted) throw new Failure('INVALID_TOKEN');
  if (row.expired) throw new Failure('TOKEN_EXPIRED');
  const { id, name, scopes, applicationId, moving_since: movingSince } = row;
  return { applicationId, apiKey: { id, name, scopes }, ...(movingSince !== null && { isMoving: true }) };
}

/** SQL on the table `sign_in` that is true for a browser session that has ended by time. */
export const signInHasExpired: RawBuilder<boolean> = sql<boolean>`(sign_in.expires_at <= now()
  or sign_in.used_at <= now() - make_interval(hours => ${sessionIdleHours}))`;

/** The settings of sign-ins. */
type SignInSettings = Pick<Config, 'SECOND_FACTOR_ROLE'>;

interface SignInRow {
  method: SignInMethod;
  operator_id: string | null;
  name: string;
  role: OperatorRole;
  must_change_password: boolean;
  /** Null without a limit. */
  application_ids: number[] | null;
  application_id: number;
  user_id: string;
  moving_since: Date | null;
  expired: boolean;
}

/**
 * Finds the person whose browser session has this token.
 * @param tokenSha256 hash of the token in the cookie, as stored
 * @param settings SECOND_FACTOR_ROLE: the lowest role that requires a second factor
 * @throws Failure INVALID_TOKEN for an unknown or ended session or one of a deleted operator or user; TOKEN_EXPIRED
 */
export async function findSignedIn(
  db: Database,
  tokenSha256: Buffer,
  { SECOND_FACTOR_ROLE }: SignInSettings,
): Promise<SignedIn> {
  const { rows } = await sql<SignInRow>`
    select sign_in.operator_id, sign_in.method, operator.name, operator.role, operator.must_change_password, session.application_id, session.user_id,
      moving_since,
      (select array_agg(application_id) from operator_application where operator_id = operator.id) as application_ids,
      ${signInHasExpired} as expired
    from sign_in
    left join operator on operator.id = sign_in.operator_id
    left join session on session.id = sign_in.session_id
    left join application on application.id = session.application_id
    left join user_account on user_account.id = session.user_id
    where sign_in.token_sha256 = ${tokenSha256} and operator.deleted_at is null
      and session.revoked_at is null and user_account.deleted_at is null`.execute(db);
  const [row] = rows;
  if (!row) throw new Failure('INVALID_TOKEN', 'the session has ended');
  if (row.expired) throw new Failure('TOKEN_EXPIRED', 'the session has expired');
  const { operator_id: id, name, role, application_ids: applicationIds } = row;
  if (id === null) {
    const isMoving = row.moving_since !== null && ({ isMoving: true } as const);
    return { caller: { applicationId: row.application_id, userId: row.user_id, ...isMoving } };
  }
  const operator = { id, name, role, ...(applicationIds !== null && { applicationIds }) };
  return {
    operator,
    mustChangePassword: row.must_change_password,
    mustAddSecondFactor: mustAddSecondFactor(role, row.method, SECOND_FACTOR_ROLE),
  };
}

/**
 * Finds the database id of an application.
 * @param among the applications that may be named; all without it
 * @throws Failure UNKNOWN_APPLICATION
 */
export async function findApplicationId(db: Database, appId: string, among?: readonly number[]): Promise<number> {
  const row = await db
    .selectFrom('application')
    .select('id')
    .where('app_id', '=', appId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row || among?.includes(row.id) === false) throw new Failure('UNKNOWN_APPLICATION');
  return row.id;
}

/**
 * Finds the application that an operator may leave out: null then, for what belongs to no application. An operator who is
 * limited to applications must name one of them.
 * @throws Failure UNKNOWN_APPLICATION, INVALID_PARAMETER
 */
export async function findScope(db: Database, operator: Operator, appId: string | undefined): Promise<number | null> {
  if (appId !== undefined) return findApplicationId(db, appId, operator.applicationIds);
  if (operator.applicationIds === undefined) return null;
  throw invalidParameter('appId', 'is missing: the operator is limited to applications');
}

/**
 * Finds the applications whose rows a list shows to an operator: the named one, else all that the operator sees.
 * @returns undefined for all, also rows of no application
 * @throws Failure UNKNOWN_APPLICATION
 */
export async function findListed(
  db: Database,
  operator: Operator,
  appId: string | undefined,
): Promise<readonly number[] | undefined> {
  return appId === undefined ? operator.applicationIds : [await findApplicationId(db, appId, operator.applicationIds)];
}

/** The accounts that requests authenticate as, in a database. */
export function accountsIn(db: Database, settings: SignInSettings) {
  return {
    findCaller: (tokenSha256: Buffer) => findCaller(db, tokenSha256),
    findApiKey: (keySha256: Buffer, address: string) => findApiKey(db, keySha256, address),
    findSignedIn: (tokenSha256: Buffer) => findSignedIn(db, tokenSha256, settings),
    findApplicationId: (appId: string, among?: readonly number[]) => findApplicationId(db, appId, among),
  };
}
