import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { readConfig } from '@odograph/runtime/config';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { applyDatabaseRoles } from './database-roles.ts';
import { chooseEngineSource, startEngine } from './engines.ts';
import { testDatabaseUrl } from './test-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    redisUrl: string;
  }
}

type Undo = () => Promise<unknown>;

/** Provides the engines of a test run, configured, in containers or embedded (engines.ts), and migrates their databases. */
export default async function setup(project: TestProject): Promise<Undo> {
  const { DATABASE_URL, REDIS_URL } = readConfig();
  const undo: Undo[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'odograph-test-'));
  undo.push(() => rm(directory, { recursive: true, force: true }));

  const isNative = chooseEngineSource(DATABASE_URL) !== 'embedded';
  const server = isNative ? await startEngine('TimescaleDB', DATABASE_URL, directory) : undefined;
  if (server) undo.push(server.stop);
  const template = server ? '' : join(directory, 'template');
  if (!server) await createTemplate(template);
  // The embedded engine has one session: with an engine for each worker, no test file waits for another's transactions.
  const workers = Math.min(project.config.maxWorkers, project.vitest.state.getPaths().length);
  const databases = await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      server ? createOnServer(server.url, `test${worker}`) : startAnotherEngine(template),
    ),
  );
  undo.push(() => Promise.all(databases.map((database) => database.drop())));
  const redis = await startEngine('Redis', REDIS_URL, directory);
  undo.push(redis.stop);

  project.provide(
    'databaseUrls',
    databases.map((database) => database.url),
  );
  project.provide('isNativeDatabase', isNative);
  project.provide('databaseTemplate', template);
  project.provide('redisUrl', redis.url);
  return async () => {
    for (const step of undo.reverse()) await step();
  };
}

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
async function createOnServer(serverUrl: string, purpose: string): Promise<OwnDatabase> {
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

/** Creates the data directory that embedded engines copy: creating a database takes seconds, a copy does not. */
async function createTemplate(dataDirectory: string): Promise<void> {
  const engine = await startEngine('TimescaleDB', undefined, dataDirectory);
  await prepare(engine.url);
  await engine.stop();
}

/** Starts another embedded engine: each has one database and a single session, which one idle transaction occupies. */
async function startAnotherEngine(template: string): Promise<OwnDatabase> {
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
