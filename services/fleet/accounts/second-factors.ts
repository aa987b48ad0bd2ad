import { randomBytes, randomUUID } from 'node:crypto';
import type { SignedIn, SignInMethod } from '@odograph/contracts/caller';
import { applicationMoving, Failure } from '@odograph/contracts/failures';
import { type AuditOrigin, auditChange, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { answers, EmptyAnswer, Password, text } from '@odograph/http/schemas';
import { type Sealer, secondFactorContext } from '@odograph/runtime/sealing';
import { hashSecret } from '@odograph/runtime/secrets';
import { type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { passwordMatches } from './passwords.ts';
import { endOtherSessions, sessionOf } from './sessions.ts';
import { base32, findTotpStep, totpSecretBytes, totpUri } from './totp.ts';

const recoveryCodeCount = 10;
const recoveryCodeBytes = 10;
const maxCodeLength = 32;
/** TOTP codes have six digits. Any other code is a recovery code, which is too long to guess. */
const totpPattern = /^\d{6}$/;

/** A TOTP code or a recovery code. */
export const Code = text(1, maxCodeLength, {
  description: 'six-digit authenticator code, or a recovery code',
  examples: ['287082'],
  writeOnly: true,
});
const Enrolment = Type.Object(
  {
    secret: Type.String({
      description: 'in base 32, for manual entry',
      examples: ['GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
    }),
    uri: Type.String({ description: 'for a QR code', examples: ['otpauth://totp/Odograph:alex?secret=GEZDGNBV'] }),
  },
  { title: 'SecondFactorSecret' },
);
const RecoveryCodes = Type.Object(
  { recoveryCodes: Type.Array(Type.String({ examples: ['abcd-efgh-ijkl-mnop'] })) },
  { title: 'RecoveryCodes' },
);

/** The account that owns a second factor: an operator or a user with a password. */
export type FactorOwner = { readonly operator_id: string } | { readonly user_id: string };

const ownedBy = (owner: FactorOwner): RawBuilder<boolean> =>
  'operator_id' in owner ? sql`operator_id = ${owner.operator_id}` : sql`user_id = ${owner.user_id}`;

/** Routes for the second factor of the signed-in person. */
export const secondFactors: FleetRoutes = { session: [addEnrolment, addRemoval] };

/** @throws Failure OVERLOADED if the user's application is being moved, because its second factor is being copied */
function ownerOf(signedIn: SignedIn): FactorOwner {
  if ('operator' in signedIn) return { operator_id: signedIn.operator.id ?? '' };
  if (signedIn.caller.isMoving) throw applicationMoving();
  return { user_id: signedIn.caller.userId };
}

/** Returns the audit origin of the signed-in person. */
export function originOf(signedIn: SignedIn, address: string): AuditOrigin {
  if ('operator' in signedIn) return { chain: operatorChain, actor: `operator:${signedIn.operator.name}`, address };
  const { applicationId, userId } = signedIn.caller;
  return { chain: applicationId, actor: `user:${userId}`, address };
}

const kindOf = (owner: FactorOwner) => ('operator_id' in owner ? 'operator' : 'user');

function addEnrolment(http: Http, fleet: Fleet): void {
  const { db, factorSealer, factorLimit } = fleet;
  const startSchema = {
    tags: ['sessions'],
    summary: 'Create the secret of a second factor; it has no effect until confirmed',
    body: Type.Object({ currentPassword: Password }),
    response: answers(Enrolment, 'INVALID_OLD_PASSWORD', 'ALREADY_EXISTS'),
  };
  http.post('/v1/x/session/second-factor', { schema: startSchema }, async ({ signedIn, ip: address, body }) => {
    const owner = ownerOf(signedIn);
    const name = await verifyCurrentPassword(fleet, owner, body.currentPassword, address);
    const secret = randomBytes(totpSecretBytes);
    await startEnrolment(db, factorSealer, owner, secret);
    return { secret: base32(secret), uri: totpUri(secret, name) };
  });

  const confirmSchema = {
    tags: ['sessions'],
    summary: 'Confirm the second factor with a code; returns recovery codes and ends the other sessions of the person',
    body: Type.Object({ code: Code }),
    response: answers(RecoveryCodes, 'INVALID_CREDENTIALS', 'ALREADY_EXISTS', 'NOT_FOUND'),
  };
  http.post('/v1/x/session/second-factor/confirm', { schema: confirmSchema }, async (request) => {
    const { signedIn, ip, body } = request;
    const owner = ownerOf(signedIn);
    const factor = await findFactor(db, factorSealer, owner);
    if (!factor) throw new Failure('NOT_FOUND', 'no second factor is waiting for confirmation');
    if (factor.isConfirmed) throw new Failure('ALREADY_EXISTS', 'there is a second factor already');
    await factorLimit.attempt({ account: ['second factor', factor.id], address: '' }, () =>
      acceptTotp(db, factor, body.code),
    );
    const codes = Array.from({ length: recoveryCodeCount }, createRecoveryCode);
    await db.transaction().execute(async (trx) => {
      const { numUpdatedRows } = await trx
        .updateTable('second_factor')
        .set({ confirmed_at: sql`now()` })
        .where('id', '=', factor.id)
        .where('confirmed_at', 'is', null)
        .executeTakeFirst();
      // Removed, replaced or confirmed meanwhile.
      if (numUpdatedRows === 0n) throw new Failure('NOT_FOUND', 'no second factor is waiting for confirmation');
      const rows = codes.map((code) => ({ factor_id: factor.id, code_sha256: hashSecret(code) }));
      await trx.insertInto('recovery_code').values(rows).execute();
      await endOtherSessions(trx, signedIn, { tokenSha256: sessionOf(request), method: 'code' });
      const origin = originOf(signedIn, ip);
      await auditChange(trx, origin, `${kindOf(owner)}.second-factor.add`, origin.actor);
    });
    return { recoveryCodes: codes };
  });
}

function addRemoval(http: Http, fleet: Fleet): void {
  const removeSchema = {
    tags: ['sessions'],
    summary: 'Remove the second factor of the signed-in person; requires a code or a recovery code',
    body: Type.Object({ code: Code }),
    response: answers(EmptyAnswer, 'INVALID_CREDENTIALS', 'NOT_FOUND'),
  };
  http.delete('/v1/x/session/second-factor', { schema: removeSchema }, async (request) => {
    const { signedIn, ip, body } = request;
    const owner = ownerOf(signedIn);
    if ((await acceptCode(fleet, owner, body.code)) === 'password') throw new Failure('NOT_FOUND', 'no second factor');
    await fleet.db.transaction().execute(async (trx) => {
      await removeFactor(trx, owner);
      const method = (await hasFactor(trx, owner)) ? undefined : 'password';
      await endOtherSessions(trx, signedIn, { tokenSha256: sessionOf(request), method });
      const origin = originOf(signedIn, ip);
      await auditChange(trx, origin, `${kindOf(owner)}.second-factor.remove`, origin.actor);
    });
    return {};
  });
}

/** Creates a recovery code of 80 random bits in four groups; it is long enough to be stored as an unsalted hash. */
function createRecoveryCode(): string {
  return (base32(randomBytes(recoveryCodeBytes)).toLowerCase().match(/.{4}/g) ?? []).join('-');
}

interface Factor {
  readonly id: string;
  readonly isConfirmed: boolean;
  readonly secret: Buffer;
}

async function findFactor(db: Database, sealer: Sealer, owner: FactorOwner): Promise<Factor | undefined> {
  const row = await db
    .selectFrom('second_factor')
    .select(['id', 'sealed_secret', 'confirmed_at'])
    .where(ownedBy(owner))
    .executeTakeFirst();
  if (!row) return undefined;
  const secret = sealer.open(row.sealed_secret, secondFactorContext(row.id));
  return { id: row.id, isConfirmed: row.confirmed_at !== null, secret };
}

/** Stores a secret, replacing an unconfirmed one. @throws Failure ALREADY_EXISTS if one is confirmed */
async function startEnrolment(db: Database, sealer: Sealer, owner: FactorOwner, secret: Buffer): Promise<void> {
  const id = randomUUID();
  const sealed_secret = sealer.seal(secret, secondFactorContext(id));
  const column = 'operator_id' in owner ? 'operator_id' : 'user_id';
  const stored = await db
    .insertInto('second_factor')
    .values({ id, sealed_secret, ...owner })
    .onConflict((conflict) =>
      conflict.column(column).doUpdateSet({ id, sealed_secret }).where('second_factor.confirmed_at', 'is', null),
    )
    .returning('id')
    .executeTakeFirst();
  if (!stored) throw new Failure('ALREADY_EXISTS', 'there is a second factor already');
}

const wrongCode = () => new Failure('INVALID_CREDENTIALS', 'the code is wrong', { field: 'code' });

/** Accepts a TOTP code once, and no code of the same or an earlier time step later. @throws Failure INVALID_CREDENTIALS */
async function acceptTotp(db: Database, { id, secret }: Factor, code: string): Promise<void> {
  const step = findTotpStep(secret, code, Date.now());
  const accepted =
    step !== undefined &&
    (await db
      .updateTable('second_factor')
      .set({ last_step: step })
      .where('id', '=', id)
      .where('last_step', '<', step)
      .returning('id')
      .executeTakeFirst());
  if (!accepted) throw wrongCode();
}

/** Accepts a recovery code once. @throws Failure INVALID_CREDENTIALS */
async function acceptRecoveryCode(db: Database, { id }: Factor, code: string): Promise<void> {
  const used = await db
    .deleteFrom('recovery_code')
    .where('factor_id', '=', id)
    .where('code_sha256', '=', hashSecret(code.trim().toLowerCase()))
    .returning('factor_id')
    .executeTakeFirst();
  if (!used) throw wrongCode();
}

/**
 * Verifies the second factor, if any, after the password was verified.
 * @returns the method of the sign-in
 * @throws Failure INVALID_CREDENTIALS; SECOND_FACTOR_REQUIRED without a code; TOO_MANY_REQUESTS for the account across all
 *   addresses, because an attacker who gets this far knows the password
 */
export async function acceptCode(
  { db, factorSealer, factorLimit }: Fleet,
  owner: FactorOwner,
  code: string | undefined,
): Promise<SignInMethod> {
  const factor = await findFactor(db, factorSealer, owner);
  if (!factor?.isConfirmed) return 'password';
  if (code === undefined) throw new Failure('SECOND_FACTOR_REQUIRED');
  if (!totpPattern.test(code)) {
    await acceptRecoveryCode(db, factor, code);
    return 'recovery code';
  }
  await factorLimit.attempt({ account: ['second factor', factor.id], address: '' }, () => acceptTotp(db, factor, code));
  return 'code';
}

/** Removes the authenticator of an account, if there is one. */
export async function removeFactor(db: Database, owner: FactorOwner): Promise<void> {
  await db.deleteFrom('second_factor').where(ownedBy(owner)).execute();
}

/** Removes the authenticator and the passkeys of an operator. */
export async function removeFactorsOf(db: Database, operatorId: string): Promise<void> {
  await removeFactor(db, { operator_id: operatorId });
  await sql`delete from passkey where operator_id = ${operatorId}`.execute(db);
}

/** Whether signing in requires more than a password: a code or, for an operator, a passkey. */
export async function hasFactor(db: Database, owner: FactorOwner): Promise<boolean> {
  const operatorId = 'operator_id' in owner ? owner.operator_id : null;
  const { rows } = await sql<{ hasFactor: boolean }>`select
    exists (select from second_factor where ${ownedBy(owner)} and confirmed_at is not null)
    or exists (select from passkey where operator_id = ${operatorId}::uuid) as "hasFactor"`.execute(db);
  return rows[0]?.hasFactor ?? false;
}

/**
 * Verifies the password of the signed-in person again. @returns the name of the account
 * @throws Failure INVALID_OLD_PASSWORD, TOO_MANY_REQUESTS
 */
export async function verifyCurrentPassword(
  { db, loginLimit }: Fleet,
  owner: FactorOwner,
  password: string,
  address: string,
): Promise<string> {
  const account = await findAccount(db, owner);
  await loginLimit.attempt({ account: ['password', ...Object.values(owner)], address }, async () => {
    if (!(await passwordMatches(password, account?.passwordHash))) throw new Failure('INVALID_OLD_PASSWORD');
  });
  return account?.name ?? '';
}

function findAccount(db: Database, owner: FactorOwner) {
  return 'operator_id' in owner
    ? db
        .selectFrom('operator')
        .select(['name', 'password_hash as passwordHash'])
        .where('id', '=', owner.operator_id)
        .executeTakeFirst()
    : db
        .selectFrom('user_account')
        .select(['username as name', 'password_hash as passwordHash'])
        .where('id', '=', owner.user_id)
        .executeTakeFirst();
}

/** Reseals the secrets under the newest of ENCRYPTION_KEYS; secrets that no key opens are left unchanged. */
export async function resealFactors(db: Database, sealer: Sealer): Promise<void> {
  const rows = await db.selectFrom('second_factor').select(['id', 'sealed_secret as sealed']).execute();
  for (const { id, sealed } of rows) {
    if (sealer.isCurrent(sealed) || !sealer.canOpen(sealed)) continue;
    const context = secondFactorContext(id);
    await db
      .updateTable('second_factor')
      .set({ sealed_secret: sealer.seal(sealer.open(sealed, context), context) })
      .where('id', '=', id)
      .execute();
  }
}
