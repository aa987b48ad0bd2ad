import { readFile } from 'node:fs/promises';
import { serviceDatabaseNames } from '@odograph/runtime/settings';
import { Client } from 'pg';

const rolesFile = new URL('../../infra/database-roles.sql', import.meta.url);

/** Creates the roles of the services in a database, as a deployment does after every migration. */
export async function applyDatabaseRoles(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(await readFile(rolesFile, 'utf8'));
  } finally {
    await client.end();
  }
}

/** Builds the URL of a database whose sessions run in a role. */
export function urlInRole(databaseUrl: string, role: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set('options', `-c role=${role}`);
  return url.href;
}

/** Builds settings with which every service has its own role, and none the owner's. */
export function roleSettings(databaseUrl: string): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [service, name] of Object.entries(serviceDatabaseNames)) {
    settings[name] = urlInRole(databaseUrl, `odograph_${service}`);
  }
  return settings;
}
