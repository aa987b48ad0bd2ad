import type { Database } from '@odograph/database/database';
import { within } from '@odograph/runtime/clock';
import { equalSecrets } from '@odograph/runtime/secrets';
import { KeyedLookups } from '@odograph/sessions/keyed-lookups';
import type { DeviceRates } from '@odograph/sessions/throttle';
import { sql } from 'kysely';

/** Credentials that a client presents. */
export type PresentedCredential =
  | { readonly kind: 'secret'; readonly sha256: Buffer }
  | { readonly kind: 'certificate'; readonly issuedAtMs: number; readonly expiresAtMs: number };

/** Stored credentials of a device. */
export interface StoredCredentials {
  readonly secretSha256: Buffer;
  /** The secret before this one, which is valid until `previousUntilMs`. */
  readonly previousSha256: Buffer | undefined;
  readonly previousUntilMs: number;
  /** Certificates issued earlier are revoked. */
  readonly certificatesFromMs: number;
  /** The rates that the application of the device sets for its devices. */
  readonly rates: Partial<DeviceRates>;
  /** Whether its application moves to another cell: the device is refused for a while. */
  readonly isMoving: boolean;
}

/** Credentials compared for an unknown device, so that the check takes as long as for a wrong secret. */
const unknownDevice: StoredCredentials = {
  secretSha256: Buffer.alloc(32),
  previousSha256: undefined,
  previousUntilMs: 0,
  certificatesFromMs: Number.POSITIVE_INFINITY,
  rates: {},
  isMoving: false,
};

/**
 * Checks a credential.
 * @returns until when it is valid, in ms since 1970, Infinity for no end; 0 when it is not
 */
export function validUntil(
  credential: PresentedCredential,
  stored: StoredCredentials | undefined,
  nowMs: number,
): number {
  const device = stored ?? unknownDevice;
  const untilMs =
    credential.kind === 'secret'
      ? secretValidUntil(credential.sha256, device)
      : certificateValidUntil(credential, device);
  return stored !== undefined && untilMs > nowMs ? untilMs : 0;
}

/** The presented secret when it is the current one while its predecessor is still valid: its first use ends that. */
export function firstUseOfSecret(
  credentials: readonly PresentedCredential[],
  stored: StoredCredentials,
): Buffer | undefined {
  const presented = credentials.find((credential) => credential.kind === 'secret')?.sha256;
  if (presented === undefined || stored.previousSha256 === undefined) return undefined;
  return equalSecrets(presented, stored.secretSha256) ? presented : undefined;
}

function secretValidUntil(sha256: Buffer, { secretSha256, previousSha256, previousUntilMs }: StoredCredentials) {
  const isCurrent = equalSecrets(sha256, secretSha256);
  const isPrevious = equalSecrets(sha256, previousSha256 ?? unknownDevice.secretSha256) && previousSha256 !== undefined;
  if (isCurrent) return Number.POSITIVE_INFINITY;
  return isPrevious ? previousUntilMs : 0;
}

function certificateValidUntil(
  { issuedAtMs, expiresAtMs }: { issuedAtMs: number; expiresAtMs: number },
  { certificatesFromMs }: StoredCredentials,
): number {
  return issuedAtMs >= certificatesFromMs ? expiresAtMs : 0;
}

const timeoutMs = 5000;

/** Looks up the stored credentials of devices, many with one statement, so that a reconnecting fleet stays cheap. */
export class CredentialStore {
  readonly #db: Database;
  readonly #lookups: KeyedLookups<StoredCredentials>;

  constructor(db: Database) {
    this.#db = db;
    this.#lookups = new KeyedLookups((deviceIds) => selectCredentials(db, deviceIds));
  }

  /**
   * Finds the credentials of a device; undefined when it does not exist.
   * @throws when the database does not answer
   */
  find(deviceId: string): Promise<StoredCredentials | undefined> {
    return this.#lookups.find(deviceId);
  }

  /** Repeats the pending lookups of a device whose credentials changed: their statement may have read the old ones. */
  invalidate(deviceId: string): void {
    this.#lookups.invalidate(deviceId);
  }

  /** Repeats all pending lookups: changes of any device may have been missed. */
  invalidateAll(): void {
    this.#lookups.invalidateAll();
  }

  /** Ends the validity of the secret before this one. @throws when the database does not answer */
  async endPreviousSecret(deviceId: string, secretSha256: Buffer): Promise<void> {
    await within(timeoutMs, sql`select confirm_device_secret(${deviceId}, ${secretSha256})`.execute(this.#db));
  }
}

async function selectCredentials(db: Database, deviceIds: string[]): Promise<Map<string, StoredCredentials>> {
  const rows = await db
    .selectFrom('device')
    .leftJoin('application', 'application.id', 'device.application_id')
    .select([
      'device.id as deviceId',
      'secret_sha256 as secretSha256',
      'previous_secret_sha256 as previousSha256',
      'previous_secret_until as previousUntil',
      'certificates_issued_from as certificatesFrom',
      'device_uploads_per_second as uploadsPerSecond',
      'device_bytes_per_second as bytesPerSecond',
      'moving_since as movingSince',
    ])
    .where((where) => where('device.id', '=', where.fn.any(where.val(deviceIds))))
    .execute();
  return new Map(
    rows.map(
      ({
        deviceId,
        secretSha256,
        previousSha256,
        previousUntil,
        certificatesFrom,
        uploadsPerSecond,
        bytesPerSecond,
        movingSince,
      }) => [
        deviceId,
        {
          secretSha256,
          previousSha256: previousSha256 ?? undefined,
          previousUntilMs: previousUntil?.getTime() ?? 0,
          certificatesFromMs: certificatesFrom?.getTime() ?? 0,
          rates: {
            ...(uploadsPerSecond !== null && { uploadsPerSecond }),
            ...(bytesPerSecond !== null && { bytesPerSecond }),
          },
          isMoving: movingSince !== null,
        },
      ],
    ),
  );
}
