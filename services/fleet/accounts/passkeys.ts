import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { auditChange, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import type { Http } from '@odograph/http/http';
import { answers, EmptyAnswer, moment, Password, text } from '@odograph/http/schemas';
import { requireOwnOrigin } from '@odograph/http/session-cookie';
import { messageOf } from '@odograph/runtime/message-of';
import { hashSecret } from '@odograph/runtime/secrets';
import type { FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { available } from '../common/login-limit.ts';
import { hasFactor, originOf, verifyCurrentPassword } from './second-factors.ts';
import { endOtherSessions, SignedInPerson, selectOperators, sessionOf } from './sessions.ts';
import { type OperatorAccount, openSession } from './sign-in.ts';

/** Loads the library on first use: loading costs 29 MB and 0.3 s of CPU time, even without passkeys. */
const loadLibrary = () => import('@simplewebauthn/server');

const challengeSeconds = 300;
const maxPasskeys = 20;
/** EdDSA, ES256 and RS256 (IANA COSE Algorithms), which every Node.js build can verify. */
const algorithms = [-8, -7, -257];

const base64url = (maxLength: number, description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength, description, examples: ['AAAA'] });
/** WebAuthn Level 3, 4: at most 1,023 bytes. */
const CredentialId = base64url(1364, 'identifier of the credential, base64url');
const ClientData = base64url(8192, 'clientDataJSON, base64url');
const Name = text(1, 100, { description: 'display name', examples: ['Work laptop'] });
const CreationOptions = Type.Record(Type.String(), Type.Unknown(), {
  title: 'PasskeyCreationOptions',
  description: 'PublicKeyCredentialCreationOptionsJSON of WebAuthn, for navigator.credentials.create()',
});
const RequestOptions = Type.Record(Type.String(), Type.Unknown(), {
  title: 'PasskeyRequestOptions',
  description: 'PublicKeyCredentialRequestOptionsJSON of WebAuthn, for navigator.credentials.get()',
});
const Creation = Type.Object({
  name: Name,
  id: CredentialId,
  clientDataJSON: ClientData,
  attestationObject: base64url(32_768, 'base64url'),
});
const Assertion = Type.Object({
  id: CredentialId,
  clientDataJSON: ClientData,
  authenticatorData: base64url(8192, 'base64url'),
  signature: base64url(8192, 'base64url'),
  userHandle: base64url(128, 'base64url'),
});
const Passkey = Type.Object(
  {
    id: Type.String({ examples: ['0197a1de-5f0e-7000-8000-00000000000a'] }),
    name: Name,
    createdAt: moment('of its creation'),
    usedAt: Type.Union([moment('of the last sign-in with it'), Type.Null()]),
  },
  { title: 'Passkey' },
);
const CurrentPassword = Type.Object({ currentPassword: Password });
const path = '/v1/x/session/passkeys';

/** Routes of the passkeys of operators. */
export const passkeys: FleetRoutes = { open: [addSignIn], session: [addRegistration, addList] };

/** Returns the domain that passkeys belong to, and the origin of the pages that use them. */
function relyingParty({ config: { PUBLIC_URL } }: Fleet, { headers }: FastifyRequest) {
  // Requests come from our own origin: requireOwnOrigin compares it with the host.
  const { hostname, origin } = new URL(PUBLIC_URL ?? headers.origin ?? '');
  return { expectedRPID: hostname, expectedOrigin: origin };
}

const challengeKey = ({ config }: Fleet, challenge: string): string =>
  `${config.QUEUE_PREFIX}:passkey-challenge:${hashSecret(challenge).toString('base64url')}`;

const challengeStore = 'challenge store';

/** Stores a challenge. @param purpose identifies the request that may use it. @throws Failure OVERLOADED without Redis */
async function storeChallenge(fleet: Fleet, purpose: string, challenge: string): Promise<void> {
  await available(fleet.redis.set(challengeKey(fleet, challenge), purpose, 'EX', challengeSeconds), challengeStore);
}

/** Creates a function that accepts a challenge once, and throws Failure OVERLOADED without Redis. */
const acceptChallenge = (fleet: Fleet, purpose: string) => async (challenge: string) =>
  (await available(fleet.redis.getdel(challengeKey(fleet, challenge)), challengeStore)) === purpose;

const registrationOf = (operatorId: string): string => `registration of ${operatorId}`;

/** Returns the user handle of an operator. It contains no name, because anyone with the authenticator can read it. */
const handleOf = (operatorId: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(operatorId.replaceAll('-', ''), 'hex'));

const refused = () => new Failure('INVALID_CREDENTIALS', 'the passkey is not accepted');

/** Awaits a verification, which rejects on any mismatch. @throws Failure INVALID_CREDENTIALS, OVERLOADED */
async function requireVerified<Result extends { readonly verified: boolean }>(
  { log }: FastifyRequest,
  verification: Promise<Result>,
): Promise<Result> {
  const result = await verification.catch((error: unknown) => {
    if (error instanceof Failure) throw error;
    log.warn({ reason: messageOf(error) }, 'passkey rejected');
    return undefined;
  });
  if (!result?.verified) throw refused();
  return result;
}

/** @throws Failure UNAUTHORIZED for a user of an application */
function operatorOf({ signedIn }: FastifyRequest): { readonly id: string; readonly name: string } {
  if (!('operator' in signedIn)) throw new Failure('UNAUTHORIZED', 'only operators have passkeys');
  const { id = '', name = '' } = signedIn.operator;
  return { id, name };
}

function addRegistration(http: Http, fleet: Fleet): void {
  const { db } = fleet;
  const optionsSchema = {
    tags: ['sessions'],
    summary: 'Create the options of a new passkey, with a single-use challenge that is valid for five minutes',
    body: CurrentPassword,
    response: answers(CreationOptions, 'INVALID_OLD_PASSWORD', 'UNAUTHORIZED'),
  };
  http.post(`${path}/options`, { schema: optionsSchema }, async (request) => {
    const { id, name } = operatorOf(request);
    await verifyCurrentPassword(fleet, { operator_id: id }, request.body.currentPassword, request.ip);
    const { rows: known } = await sql<{ id: string }>`select credential_id as id from passkey
      where operator_id = ${id}`.execute(db);
    const { generateRegistrationOptions } = await loadLibrary();
    const options = await generateRegistrationOptions({
      ...{ rpName: 'Odograph', rpID: relyingParty(fleet, request).expectedRPID },
      ...{ userName: name, userDisplayName: name, userID: handleOf(id), excludeCredentials: known },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      ...{ supportedAlgorithmIDs: algorithms, timeout: challengeSeconds * 1000 },
    });
    await storeChallenge(fleet, registrationOf(id), options.challenge);
    return { ...options };
  });

  const addSchema = {
    tags: ['sessions'],
    summary: 'Add a passkey of the signed-in operator; ends the other sessions of the operator',
    body: Creation,
    response: answers(Passkey, 'INVALID_CREDENTIALS', 'UNAUTHORIZED', 'ALREADY_EXISTS', 'TOO_MANY'),
  };
  http.post(path, { schema: addSchema }, async (request) => {
    const { id: operatorId } = operatorOf(request);
    const { name, id, ...response } = request.body;
    const { verifyRegistrationResponse } = await loadLibrary();
    const { registrationInfo } = await requireVerified(
      request,
      verifyRegistrationResponse({
        response: { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response },
        expectedChallenge: acceptChallenge(fleet, registrationOf(operatorId)),
        ...relyingParty(fleet, request),
        supportedAlgorithmIDs: algorithms,
      }),
    );
    if (!registrationInfo) throw refused();
    const { publicKey, counter } = registrationInfo.credential;
    const passkey = { name, credentialId: id, publicKey: Buffer.from(publicKey), counter };
    return db.transaction().execute(async (trx) => {
      const added = await addPasskey(trx, operatorId, passkey);
      await endOtherSessions(trx, request.signedIn, { tokenSha256: sessionOf(request), method: 'passkey' });
      const origin = originOf(request.signedIn, request.ip);
      await auditChange(trx, origin, 'operator.passkey.add', origin.actor, { name });
      return added;
    });
  });
}

function addList(http: Http, fleet: Fleet): void {
  const { db } = fleet;
  const listSchema = {
    tags: ['sessions'],
    summary: 'List the passkeys of the signed-in operator',
    response: answers(Type.Object({ passkeys: Type.Array(Passkey) }), 'UNAUTHORIZED'),
  };
  http.get(path, { schema: listSchema }, async (request) => ({
    passkeys: await listPasskeys(db, operatorOf(request).id),
  }));
  const removeSchema = {
    tags: ['sessions'],
    summary: 'Remove a passkey of the signed-in operator; ends the other sessions of the operator',
    params: Type.Object({ id: Passkey.properties.id }),
    body: CurrentPassword,
    response: answers(EmptyAnswer, 'INVALID_OLD_PASSWORD', 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.delete(`${path}/:id`, { schema: removeSchema }, async (request) => {
    const { signedIn, params, body, ip } = request;
    const owner = { operator_id: operatorOf(request).id };
    await verifyCurrentPassword(fleet, owner, body.currentPassword, ip);
    await db.transaction().execute(async (trx) => {
      const id = isUuid(params.id) ? params.id : null;
      const { rows } = await sql<{ name: string }>`delete from passkey
        where operator_id = ${owner.operator_id} and id = ${id}::uuid returning name`.execute(trx);
      const [removed] = rows;
      if (!removed) throw new Failure('NOT_FOUND', 'no such passkey');
      const method = (await hasFactor(trx, owner)) ? undefined : 'password';
      await endOtherSessions(trx, signedIn, { tokenSha256: sessionOf(request), method });
      const origin = originOf(signedIn, ip);
      await auditChange(trx, origin, 'operator.passkey.remove', origin.actor, { name: removed.name });
    });
    return {};
  });
}

function addSignIn(http: Http, fleet: Fleet): void {
  const optionsSchema = {
    tags: ['sessions'],
    security: [],
    summary: 'Create the options of a passkey sign-in, with a single-use challenge that is valid for five minutes',
    response: answers(RequestOptions, 'UNAUTHORIZED'),
  };
  http.post('/v1/x/session/passkey/options', { schema: optionsSchema }, async (request) => {
    requireOwnOrigin(request);
    const { expectedRPID: rpID } = relyingParty(fleet, request);
    const timeout = challengeSeconds * 1000;
    const { generateAuthenticationOptions } = await loadLibrary();
    const options = await generateAuthenticationOptions({ rpID, userVerification: 'required', timeout });
    await storeChallenge(fleet, 'sign-in', options.challenge);
    return { ...options };
  });
  const signInSchema = {
    tags: ['sessions'],
    security: [],
    summary: 'Sign in a browser as an operator with a passkey, which replaces the password and the code',
    body: Assertion,
    response: answers(SignedInPerson, 'INVALID_CREDENTIALS', 'UNAUTHORIZED'),
  };
  http.post('/v1/x/session/passkey', { schema: signInSchema }, async (request, reply) => {
    requireOwnOrigin(request);
    const account = await fleet.addressLimit.attempt({ account: [], address: request.ip }, () =>
      acceptPasskey(fleet, request, request.body),
    );
    return openSession(fleet, request, reply, { account, method: 'passkey' });
  });
}

interface StoredPasskey {
  readonly id: string;
  readonly operatorId: string;
  readonly name: string;
  /** In COSE. */
  readonly publicKey: Buffer;
}

/** Verifies the assertion of a passkey. @returns its operator. @throws Failure INVALID_CREDENTIALS */
async function acceptPasskey(
  fleet: Fleet,
  request: FastifyRequest,
  { id, userHandle, ...response }: Type.Static<typeof Assertion>,
): Promise<OperatorAccount> {
  const { db } = fleet;
  const { rows } = await sql<StoredPasskey>`select id, operator_id as "operatorId", name, public_key as "publicKey"
    from passkey where credential_id = ${id}`.execute(db);
  const [passkey] = rows;
  if (!passkey || userHandle !== Buffer.from(handleOf(passkey.operatorId)).toString('base64url')) throw refused();
  const { verifyAuthenticationResponse } = await loadLibrary();
  const { authenticationInfo } = await requireVerified(
    request,
    verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: { ...response, userHandle },
      },
      expectedChallenge: acceptChallenge(fleet, 'sign-in'),
      ...relyingParty(fleet, request),
      // countUse() checks the counter atomically, so two concurrent sign-ins cannot both pass.
      credential: { id, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
    }),
  );
  const operator = await selectOperators(db).where('id', '=', passkey.operatorId).executeTakeFirst();
  if (!operator) throw refused();
  if (await countUse(db, passkey.id, authenticationInfo.newCounter)) return operator;
  const actor = `operator:${operator.name}`;
  const origin = { chain: operatorChain, actor, address: request.ip };
  await auditChange(db, origin, 'operator.passkey.refuse', actor, { name: passkey.name, reason: 'sign counter' });
  throw refused();
}

/**
 * Stores the signature counter of a use. A counter that has not grown indicates a copy of the passkey (WebAuthn Level 3,
 * 6.1.1).
 * @returns whether the counter is valid
 */
async function countUse(db: Database, id: string, counter: number): Promise<boolean> {
  const { numAffectedRows } = await sql`update passkey set sign_count = ${counter}, used_at = now()
    where id = ${id} and (sign_count < ${counter} or sign_count = 0 and ${counter}::bigint = 0)`.execute(db);
  return numAffectedRows === 1n;
}

interface NewPasskey {
  readonly name: string;
  readonly credentialId: string;
  readonly publicKey: Buffer;
  readonly counter: number;
}

/** @throws Failure ALREADY_EXISTS, TOO_MANY */
async function addPasskey(
  db: Database,
  operatorId: string,
  { name, credentialId, publicKey, counter }: NewPasskey,
): Promise<Type.Static<typeof Passkey>> {
  // Serialize registrations, so that concurrent ones cannot exceed the limit.
  await db.selectFrom('operator').select('id').where('id', '=', operatorId).forNoKeyUpdate().execute();
  const known = await listPasskeys(db, operatorId);
  if (known.length >= maxPasskeys) throw new Failure('TOO_MANY', `an operator has at most ${maxPasskeys} passkeys`);
  const taken = ['ALREADY_EXISTS', 'the passkey already exists'] as const;
  await failOnConstraint({ passkey_credential_id_key: taken }, () =>
    sql`insert into passkey (operator_id, name, credential_id, public_key, sign_count)
      values (${operatorId}, ${name}, ${credentialId}, ${publicKey}, ${counter})`.execute(db),
  );
  const [added] = await listPasskeys(db, operatorId, credentialId);
  if (!added) throw new Error('the passkey was not added');
  return added;
}

/** Lists the passkeys of an operator, oldest first, or the one with this credential. */
async function listPasskeys(
  db: Database,
  operatorId: string,
  credentialId?: string,
): Promise<Type.Static<typeof Passkey>[]> {
  const { rows } = await sql<Type.Static<typeof Passkey>>`select id, name, ${isoTime('created_at')} as "createdAt",
    ${isoTime('used_at')} as "usedAt" from passkey where operator_id = ${operatorId}
    and (${credentialId === undefined} or credential_id = ${credentialId ?? null}) order by created_at`.execute(db);
  return rows;
}
