import type { Database } from '@odograph/database/database';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';

/** What the operator sees of an application; never its key. */
export interface Application {
  appId: string;
  name: string;
  createdAt: string;
}

/** Creates an application. @returns its credentials; the key is not stored and cannot be shown again */
export async function createApplication(db: Database, name: string): Promise<{ appId: string; appKey: string }> {
  const appId = `app-${createSecret().slice(0, 16)}`;
  const appKey = createSecret();
  await db
    .insertInto('application')
    .values({ app_id: appId, app_key_sha256: hashSecret(appKey), name })
    .execute();
  return { appId, appKey };
}

export async function listApplications(db: Database): Promise<Application[]> {
  const rows = await db.selectFrom('application').select(['app_id', 'name', 'created_at']).orderBy('id').execute();
  return rows.map((row) => ({ appId: row.app_id, name: row.name, createdAt: row.created_at.toISOString() }));
}
