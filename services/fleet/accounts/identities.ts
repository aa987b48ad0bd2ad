import type { OperatorRole } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { auditChange, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { createSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';
import type { Fleet } from '../common/fleet.ts';
import { createOperator, isOperatorName, limitOperator } from './operators.ts';
import { hashPassword } from './passwords.ts';
import { endSignIns } from './sessions.ts';
import type { OperatorAccount } from './sign-in.ts';

/** The claims of an identity provider about a person. */
export interface Identity {
  /** Issuer and subject, which together are stable and unique. */
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
  /** The session ID at the provider. */
  readonly sid?: string;
}

/** The role that a group at the provider confers. */
interface GroupRole {
  readonly group: string;
  readonly role: OperatorRole;
  /** The permitted applications; empty for all. */
  readonly appIds: readonly string[];
}

/** Parses the roles of a provider: `GROUP=ROLE` or `GROUP=ROLE:APPID+APPID`, separated by commas. */
function parseGroupRoles(setting: string): GroupRole[] {
  return setting.split(',').map((one) => {
    const [, group = '', role = '', appIds] = /^(.+)=(\w+)(?::(.+))?$/.exec(one.trim()) ?? [];
    return { group, role: role as OperatorRole, appIds: appIds?.split('+') ?? [] };
  });
}

/**
 * Creates or updates the operator of an identity, with the role and applications of the first matching group.
 * Without a match, the operator is deleted.
 * @throws Failure UNAUTHORIZED without a match; ALREADY_EXISTS if another operator has the name
 */
export async function admitIdentity(
  { db }: Fleet,
  identity: Identity,
  { roles, address }: { readonly roles: string; readonly address: string },
): Promise<OperatorAccount & { readonly sid: string | undefined }> {
  const access = parseGroupRoles(roles).find(({ group }) => identity.groups.includes(group));
  const passwordHash = await hashPassword(createSecret());
  // Return failures: throwing would roll back the deletion.
  const result = await db.transaction().execute(async (trx) => {
    const known = await lockIdentity(trx, identity.subject);
    const actor = `operator:${known?.name ?? identity.name}`;
    const record = (action: string, details = {}) =>
      auditChange(trx, { chain: operatorChain, actor, address }, action, actor, {
        ...details,
        by: 'identity provider',
      });
    if (access === undefined) {
      if (known) {
        await trx.updateTable('operator').set({ deleted_at: sql<Date>`now()` }).where('id', '=', known.id).execute();
        await endSignIns(trx, sql`operator_id = ${known.id}`);
        await record('operator.delete');
      }
      return new Failure('UNAUTHORIZED', "none of the person's groups has a role");
    }
    const { role, appIds } = access;
    const applicationIds: number[] = [];
    for (const appId of appIds) applicationIds.push(await findApplicationId(trx, appId));
    const operator = known ?? (await createIdentity(trx, identity, { role, passwordHash }));
    await trx.updateTable('operator').set({ role }).where('id', '=', operator.id).execute();
    await limitOperator(trx, operator.id, applicationIds);
    const details = { role, appIds: appIds.join(' ') };
    if (!known) await record('operator.create', details);
    else if (known.role !== role || !isSameLimit(known.limit, applicationIds)) await record('operator.change', details);
    return operator;
  });
  if (result instanceof Failure) throw result;
  return { ...result, sid: identity.sid };
}

const isSameLimit = (one: readonly number[], other: readonly number[]): boolean =>
  one.every((id) => other.includes(id)) && other.every((id) => one.includes(id));

const lockIdentity = (db: Database, subject: string) =>
  db
    .selectFrom('operator')
    .select(['id', 'name', 'role', 'password_hash as passwordHash'])
    .select(
      sql<number[]>`array(select application_id from operator_application where operator_id = operator.id)`.as('limit'),
    )
    .where('oidc_subject', '=', subject)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();

/** @throws Failure ALREADY_EXISTS; INVALID_PARAMETER if the name is not a valid operator name */
async function createIdentity(
  db: Database,
  { name, subject }: Identity,
  { role, passwordHash }: { role: OperatorRole; passwordHash: string },
): Promise<OperatorAccount> {
  if (!isOperatorName(name))
    throw new Failure('INVALID_PARAMETER', 'the name from the identity provider is not a valid operator name');
  const id = await createOperator(db, { name, role, passwordHash, mustChangePassword: false });
  await db.updateTable('operator').set({ oidc_subject: subject }).where('id', '=', id).execute();
  return { id, name, passwordHash };
}

/** Ends the sessions that belong to a session at a provider; without `sid`, all sessions of the subject. */
export async function endIdentitySessions(
  db: Database,
  issuer: string,
  { sid, subject }: { readonly sid?: string; readonly subject?: string },
): Promise<void> {
  const ofPerson = sql`operator_id in (select id from operator where oidc_subject = ${subject ?? null})`;
  // Another provider may use the same identifier.
  const ofSession = sql`oidc_sid = ${sid ?? null}
    and operator_id in (select id from operator where starts_with(oidc_subject, ${`${issuer} `}))`;
  await endSignIns(db, sid === undefined ? ofPerson : ofSession);
}
