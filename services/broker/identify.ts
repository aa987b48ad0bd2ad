import { commandAccount, serviceAccountPrefix } from '@odograph/contracts/service-accounts';
import { deviceIdPattern } from '@odograph/contracts/topics';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import type { Client } from 'aedes';
import type { DeviceSecrets } from './device-secrets.ts';
import type { Presence } from './presence.ts';
import { createDeviceSession, type DeviceSession, type Session } from './sessions.ts';

const deviceIdForm = new RegExp(deviceIdPattern);
const commandClientIdForm = new RegExp(`^${commandAccount}-[A-Za-z0-9._:-]{1,64}$`);

/** What a CONNECT says of its sender. */
export interface Given {
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
}

export interface IdentifyOptions {
  readonly secrets: DeviceSecrets;
  readonly presence: Presence;
  readonly commandSecret: string;
}

/** The session of a device or of the command service; undefined for anybody else, without saying why. */
export function createIdentify({ secrets, presence, commandSecret }: IdentifyOptions) {
  const commandSecretSha256 = hashSecret(commandSecret);
  // Compared with when there is nothing to compare with, so that an unknown device takes as long as a wrong secret.
  const nobody = Buffer.alloc(commandSecretSha256.length);

  const identifyDevice = async (client: Client, given: Buffer): Promise<DeviceSession | undefined> => {
    const secretSha256 = await secrets.find(client.id);
    const right = equalSecrets(given, secretSha256 ?? nobody);
    if (!right || secretSha256 === undefined) return undefined;
    return createDeviceSession(client, { deviceId: client.id, secretSha256, presence: presence.nextSession() });
  };

  return async (client: Client, { username, password }: Given): Promise<Session | undefined> => {
    if (username === undefined || password === undefined) return undefined;
    const given = hashSecret(password.toString());
    if (username === client.id && canBeDevice(username)) return identifyDevice(client, given);
    if (username !== commandAccount || !commandClientIdForm.test(client.id)) return undefined;
    return equalSecrets(given, commandSecretSha256) ? { kind: 'command' } : undefined;
  };
}

function canBeDevice(username: string): boolean {
  return deviceIdForm.test(username) && !username.startsWith(serviceAccountPrefix);
}
