import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceAccountPrefix } from '@odograph/contracts/caller';
import { deviceIdPattern } from '@odograph/contracts/topics';
import type { Logger } from '@odograph/runtime/logger';
import { hashSecret } from '@odograph/runtime/secrets';
import type { ConnectionLimits } from '@odograph/sessions/connection-limits';
import type { SessionRegistry } from '@odograph/sessions/session-registry';
import type { DeviceThrottles } from '@odograph/sessions/throttle';
import type { AedesOptions, Client } from 'aedes';
import {
  type CredentialStore,
  firstUseOfSecret,
  type PresentedCredential,
  validUntil,
} from '../sessions/credentials.ts';
import type { BrokerMetrics } from '../sessions/metrics.ts';
import { createDeviceSession, type DeviceSession, type Sessions } from '../sessions/session-registry.ts';
import type { ConnectAttempts } from './attempts.ts';
import { type ClientCertificate, clientCertificateOf } from './client-certificate.ts';

type Authenticate = NonNullable<AedesOptions['authenticate']>;
type Answer = Parameters<Authenticate>[3];

const deviceIdForm = new RegExp(deviceIdPattern);
const deviceIdLength = 64;

/** CONNACK return codes [MQTT-3.2.2.3]. */
const serverUnavailable = 3;
const badUserNameOrPassword = 4;

const failureDelayMs = 1000;
/** The expiry of credentials is checked at least this often because the wall clock may jump. */
const maxTimerMs = 60_000;

export interface AuthenticateOptions {
  readonly credentials: CredentialStore;
  readonly registry: SessionRegistry<DeviceSession>;
  readonly sessions: Sessions;
  readonly attempts: ConnectAttempts;
  readonly limits: ConnectionLimits;
  readonly throttles: DeviceThrottles;
  readonly metrics: BrokerMetrics;
  readonly logger: Logger;
}

/** The fields of a CONNECT that identify its sender, apart from the client id. */
interface ConnectFields {
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
}

/** The result of a CONNECT: a session, or the reason for its refusal. */
type Outcome = DeviceSession | 'credentials' | 'unavailable';

/**
 * Drops the will of a CONNECT: it would be published in the name of a disconnected device, when the device could no
 * longer learn whether it was stored.
 */
export const dropWill: NonNullable<AedesOptions['preConnect']> = (_client, packet, callback) => {
  delete packet.will;
  callback(null, true);
};

/**
 * Authenticates each CONNECT: clientId = username = device id, with the device's secret or a client certificate
 * ("Connecting" in docs/device-protocol.md). An unknown device and a wrong secret get the same CONNACK (4); 3 means "not
 * now", so the device tries again. CONNACK waits until the session is in Redis, so that a command sent right after it
 * finds the device there.
 */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { credentials, registry, sessions, limits, metrics, logger } = options;
  const identify = createIdentify(options);

  const endPreviousSecret = async ({ deviceId, replaces }: DeviceSession): Promise<void> => {
    if (replaces === undefined) return;
    await credentials.endPreviousSecret(deviceId, replaces).catch((error: unknown) => {
      logger.warn({ err: error, deviceId }, 'previous secret not ended; the next connection tries again');
    });
  };
  const admit = async (client: Client, fields: ConnectFields, answer: Answer): Promise<void> => {
    const outcome = await slowDownGuessing(options, client, () => identify(client, fields));
    if (client.closed) return;
    if (typeof outcome === 'string') {
      metrics.refused.inc({ reason: outcome });
      if (outcome !== 'credentials') return answer(refusal(serverUnavailable, 'not available now'), false);
      logger.warn({ clientId: shortId(client) }, 'connection refused: wrong id or credentials');
      return answer(refusal(badUserNameOrPassword, 'wrong id or credentials'), false);
    }
    limits.authenticated(client.conn as Socket);
    sessions.set(client, outcome);
    // Added to the registry before any await, so that a revocation from here on finds the session.
    await Promise.all([registry.add(outcome), endPreviousSecret(outcome)]);
    answer(null, true);
  };
  return (client, username, password, answer) => void admit(client, { username, password }, answer);
}

/** Checks the credentials of a CONNECT, and delays the answer to a failure after many similar ones. */
async function slowDownGuessing(
  { attempts, metrics, logger }: AuthenticateOptions,
  client: Client,
  identify: () => Promise<DeviceSession | undefined>,
): Promise<Outcome> {
  const address = (client.conn as Socket).remoteAddress ?? '';
  const deviceId = shortId(client);
  try {
    const session = await attempts.check(address, async () => (client.closed ? undefined : identify()));
    if (session !== undefined) {
      attempts.succeeded(address, deviceId);
      return session;
    }
    if (attempts.failed(address, deviceId, performance.now())) {
      metrics.slowed.inc();
      await delay(failureDelayMs);
    }
    return 'credentials';
  } catch (error) {
    logger.warn({ err: error, clientId: deviceId }, 'connection not authenticated');
    return 'unavailable';
  }
}

/** Creates the function that returns the session of an authenticated device; undefined for other clients. */
function createIdentify({ credentials, throttles }: AuthenticateOptions) {
  const identifyDevice = async (
    client: Client,
    presented: readonly PresentedCredential[],
  ): Promise<DeviceSession | undefined> => {
    const deviceId = client.id;
    const stored = await credentials.find(deviceId);
    const ends = presented.map((credential) => validUntil(credential, stored, Date.now()));
    if (stored === undefined || ends.includes(0) || client.closed) return undefined;
    if (stored.isMoving) throw new Error('the application moves to another cell');
    closeAt(client, Math.min(...ends));
    const replaces = firstUseOfSecret(presented, stored);
    return createDeviceSession(client, {
      deviceId,
      credentials: presented,
      replaces,
      throttle: throttles.acquire(deviceId, stored.rates, client.conn),
    });
  };

  const identifyByCertificate = async (client: Client, certificate: ClientCertificate, fields: ConnectFields) => {
    const isOwn = certificate.commonName === client.id && (fields.username ?? client.id) === client.id;
    if (!isOwn || !canBeDevice(client.id)) return undefined;
    return identifyDevice(client, presentedBy(certificate, fields.password));
  };

  return async (client: Client, { username, password }: ConnectFields): Promise<DeviceSession | undefined> => {
    const certificate = clientCertificateOf(client.conn);
    if (certificate !== undefined) return identifyByCertificate(client, certificate, { username, password });
    if (username === undefined || password === undefined) return undefined;
    if (username !== client.id || !canBeDevice(client.id)) return undefined;
    return identifyDevice(client, [{ kind: 'secret', sha256: hashSecret(password.toString()) }]);
  };
}

/** With a certificate the password is optional, but must be correct if present. */
function presentedBy(
  { issuedAtMs, expiresAtMs }: ClientCertificate,
  password: Buffer | undefined,
): PresentedCredential[] {
  const certificate: PresentedCredential = { kind: 'certificate', issuedAtMs, expiresAtMs };
  return password === undefined
    ? [certificate]
    : [certificate, { kind: 'secret', sha256: hashSecret(password.toString()) }];
}

/** Closes a session when the credentials that it signed in with expire. */
function closeAt(client: Client, endMs: number): void {
  if (endMs === Number.POSITIVE_INFINITY) return;
  const timer = setTimeout(
    () => {
      if (Date.now() >= endMs) client.close();
      else closeAt(client, endMs);
    },
    Math.min(Math.max(endMs - Date.now(), 0), maxTimerMs),
  );
  client.conn.once('close', () => clearTimeout(timer));
}

/** Tells whether a client id has the form of a device id and is not reserved for the platform. */
function canBeDevice(clientId: string): boolean {
  return deviceIdForm.test(clientId) && !clientId.startsWith(serviceAccountPrefix);
}

function shortId(client: Client): string {
  return client.id.slice(0, deviceIdLength);
}

/** aedes answers with the return code that the error carries. */
function refusal(returnCode: number, message: string): Parameters<Answer>[0] {
  return Object.assign(new Error(message), { returnCode }) as Parameters<Answer>[0];
}
