import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { Client } from 'pg';
import { inject } from 'vitest';
import { applyDatabaseRoles } from './database-roles.ts';
import { startEngine } from './engines.ts';
import { testDatabaseUrl } from './test-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Data directory of a migrated database that no engine uses; empty on a TimescaleDB server. */
    databaseTemplate: string;
  }
}

/** A migrated database with the roles of the services. */
export interface OwnDatabase {
  readonly url: string;
  /** Drops the database, with the connections that are still open. */
  drop(): Promise<void>;
}

async function prepare(url: string): Promise<void> {
  await migrate(url);
  await applyDatabaseRoles(url);
}

/** Creates a database on a TimescaleDB server. */
export async function createOnServer(serverUrl: string, purpose: string): Promise<OwnDatabase> {
  const name = `odograph_${purpose}_${process.pid}_${Date.now()}`;
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await prepare(url.href);
  return {
    url: url.href,
    async drop() {
      await client.query(`drop database ${name} with (force)`);
      await client.end();
    },
  };
}

/** Creates the data directory that embedded engines of a run start from: creating a database takes seconds, a copy none. */
export async function createTemplate(dataDirectory: string): Promise<void> {
  const engine = await startEngine('TimescaleDB', undefined, dataDirectory);
  await prepare(engine.url);
  await engine.stop();
}

/** Starts another embedded engine: each has one database and a single session, which one idle transaction occupies. */
export async function startAnotherEngine(template: string): Promise<OwnDatabase> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-test-'));
  await cp(template, directory, { recursive: true });
  const engine = await startEngine('TimescaleDB', undefined, directory);
  return {
    url: engine.url,
    async drop() {
      await engine.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Creates a database for one test file. */
export function createOwnDatabase(purpose: string): Promise<OwnDatabase> {
  return inject('isNativeDatabase')
    ? createOnServer(testDatabaseUrl(), purpose)
    : startAnotherEngine(inject('databaseTemplate'));
}
