import { commandAccount, serviceAccountPrefix } from '@odograph/contracts/service-accounts';
import { deviceIdPattern } from '@odograph/contracts/topics';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import type { Client } from 'aedes';
import { createDeviceSession, type DeviceSession, type Session } from '../sessions/session.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { type ClientCertificate, clientCertificateOf } from './client-certificate.ts';
import type { CredentialStore } from './credentials.ts';
import { type Proof, replacingSecret, validUntil } from './stored-credentials.ts';

const deviceIdForm = new RegExp(deviceIdPattern);
const commandClientIdForm = new RegExp(`^${commandAccount}-[A-Za-z0-9._:-]{1,64}$`);
/** How often an end is looked at again: a clock that is set brings it nearer, or moves it away. */
const longestTimerMs = 60_000;

/** What a CONNECT says of its sender. */
export interface Given {
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
}

export interface IdentifyOptions {
  readonly credentials: CredentialStore;
  readonly presence: SessionRegistry;
  readonly commandSecret: string;
}

/** The session of a device or of the command service; undefined for anybody else, without saying why. */
export function createIdentify({ credentials, presence, commandSecret }: IdentifyOptions) {
  const commandSecretSha256 = hashSecret(commandSecret);

  const identifyDevice = async (client: Client, proofs: readonly Proof[]): Promise<DeviceSession | undefined> => {
    const deviceId = client.id;
    const stored = await credentials.find(deviceId);
    const ends = proofs.map((proof) => validUntil(proof, stored, Date.now()));
    if (stored === undefined || ends.includes(0)) return undefined;
    closeAt(client, Math.min(...ends));
    const replaces = replacingSecret(proofs, stored);
    return createDeviceSession(client, { deviceId, proofs, replaces, presence: presence.nextSession() });
  };

  const identifyByCertificate = async (client: Client, certificate: ClientCertificate, given: Given) => {
    const isOwn = certificate.commonName === client.id && (given.username ?? client.id) === client.id;
    return isOwn && canBeDevice(client.id) ? identifyDevice(client, proofsOf(certificate, given)) : undefined;
  };

  const isCommandService = (client: Client, username: string, sha256: Buffer): boolean =>
    username === commandAccount && commandClientIdForm.test(client.id) && equalSecrets(sha256, commandSecretSha256);

  return async (client: Client, given: Given): Promise<Session | undefined> => {
    const certificate = clientCertificateOf(client.conn);
    if (certificate !== undefined) return identifyByCertificate(client, certificate, given);
    const { username, password } = given;
    if (username === undefined || password === undefined) return undefined;
    const sha256 = hashSecret(password.toString());
    if (username === client.id && canBeDevice(username)) return identifyDevice(client, [{ kind: 'secret', sha256 }]);
    return isCommandService(client, username, sha256) ? { kind: 'command' } : undefined;
  };
}

/** With a certificate the password may be left out; one that is given must be right all the same. */
function proofsOf({ issuedAtMs, expiresAtMs }: ClientCertificate, { password }: Given): Proof[] {
  const certificate: Proof = { kind: 'certificate', issuedAtMs, expiresAtMs };
  return password === undefined
    ? [certificate]
    : [certificate, { kind: 'secret', sha256: hashSecret(password.toString()) }];
}

/** A session ends with what it was let in by. */
function closeAt(client: Client, endMs: number): void {
  if (endMs === Number.POSITIVE_INFINITY) return;
  const timer = setTimeout(
    () => {
      if (Date.now() >= endMs) client.close();
      else closeAt(client, endMs);
    },
    Math.min(Math.max(endMs - Date.now(), 0), longestTimerMs),
  );
  client.conn.once('close', () => clearTimeout(timer));
}

/** Whether a client id has the form of a device id and is none of the platform's own. */
function canBeDevice(clientId: string): boolean {
  return deviceIdForm.test(clientId) && !clientId.startsWith(serviceAccountPrefix);
}
