import { openDatabase } from '@odograph/database/database';
import { describeUnreadable, type SealedValues, sealedValues } from '@odograph/database/sealed-values';
import { configOfService, InvalidSettings, type ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { openSealer } from '@odograph/runtime/sealing';

/** The sealed values that each service opens with ENCRYPTION_KEYS. */
const openedBy: Readonly<Record<string, SealedValues>> = {
  access: 'deviceKeys',
  gateway: 'sourceTokens',
  console: 'quarantine',
  events: 'webhookSecrets',
};

/**
 * Refuses to start with ENCRYPTION_KEYS that cannot open what is stored: a mistyped or dropped key would otherwise show
 * only when a driver stands at a locked vehicle, or a quarantined upload is replayed. With ALLOW_UNREADABLE_VALUES, for
 * keys that are lost for good, it warns instead.
 * @throws InvalidSettings that counts the values no key opens
 */
export async function requireReadableValues(
  config: ResolvedConfig,
  logger: Logger,
  services: readonly string[],
): Promise<void> {
  const unreadable: string[] = [];
  for (const service of services) {
    const opened = openedBy[service];
    if (opened === undefined) continue;
    const { keyIds } = await openSealer(config, sealedValues[opened].purpose);
    const db = openDatabase({ url: configOfService(config, service).DATABASE_URL, name: 'keys', size: 1 });
    try {
      const found = await describeUnreadable(db, opened, keyIds);
      if (found !== undefined) unreadable.push(found);
    } finally {
      await db.destroy();
    }
  }
  if (unreadable.length === 0) return;
  const setting = config.ENCRYPTION_KEYS === undefined ? `${config.DATA_DIR}/encryption-key` : 'ENCRYPTION_KEYS';
  const fault = `${setting}: no key opens ${unreadable.join(' and ')} that are stored; add the key that sealed them`;
  if (!config.ALLOW_UNREADABLE_VALUES) throw new InvalidSettings([fault]);
  logger.warn({ fault }, 'started with unreadable values');
}
