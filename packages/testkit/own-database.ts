import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { Client } from 'pg';
import { applyDatabaseRoles } from './database-roles.ts';
import { startEngine } from './engines.ts';

/** A migrated database with the roles of the services. */
export interface OwnDatabase {
  readonly url: string;
  /** Drops the database, with the connections that are still open. */
  drop(): Promise<void>;
}

async function createOnServer(serverUrl: string, purpose: string): Promise<OwnDatabase> {
  const name = `odograph_${purpose}_${process.pid}_${Date.now()}`;
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async drop() {
      await client.query(`drop database ${name} with (force)`);
      await client.end();
    },
  };
}

/** Starts another embedded engine: each has one database and a single session, which one idle transaction occupies. */
async function startAnotherEngine(): Promise<OwnDatabase> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-test-'));
  const engine = await startEngine('TimescaleDB', undefined, directory);
  return {
    url: engine.url,
    async drop() {
      await engine.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Creates a database for a test run, or for one file of it, as a deployment does.
 * @param server the TimescaleDB server that the run uses, or undefined when it uses the embedded engine
 */
export async function createOwnDatabase(server: string | undefined, purpose: string): Promise<OwnDatabase> {
  const database = server === undefined ? await startAnotherEngine() : await createOnServer(server, purpose);
  await migrate(database.url);
  await applyDatabaseRoles(database.url);
  return database;
}
