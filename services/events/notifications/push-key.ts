import type { Database } from '@odograph/database/database';
import { pushKeyContext, type Sealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import webPush from 'web-push';

/** The key pair of the installation (VAPID, RFC 8292), base64url. */
export interface PushKey {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Reads the key pair, or creates it on first use. @throws Failure INTERNAL_ERROR if no key opens it */
export async function openPushKey(db: Database, sealer: Sealer): Promise<PushKey> {
  const made = webPush.generateVAPIDKeys();
  const sealed = sealer.seal(Buffer.from(made.privateKey), pushKeyContext);
  await sql`insert into push_key (public_key, sealed_private_key) select ${made.publicKey}, ${sealed}
    where not exists (select from push_key) on conflict do nothing`.execute(db);
  const { rows } = await sql<{ publicKey: string; sealed: Buffer }>`select public_key as "publicKey",
    sealed_private_key as sealed from push_key`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the push key is missing');
  return { publicKey: row.publicKey, privateKey: sealer.open(row.sealed, pushKeyContext).toString() };
}

/** Reseals the private key under the newest of ENCRYPTION_KEYS; skips a key that none of them opens. */
export async function resealPushKey(db: Database, sealer: Sealer): Promise<void> {
  const { rows } = await sql<{ sealed: Buffer }>`select sealed_private_key as sealed from push_key`.execute(db);
  for (const { sealed } of rows) {
    if (sealer.isCurrent(sealed) || !sealer.canOpen(sealed)) continue;
    const current = sealer.seal(sealer.open(sealed, pushKeyContext), pushKeyContext);
    await sql`update push_key set sealed_private_key = ${current} where sealed_private_key = ${sealed}`.execute(db);
  }
}
