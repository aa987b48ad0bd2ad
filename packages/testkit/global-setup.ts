import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
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
  const templates = server ? undefined : await createTemplates(directory);
  // The embedded engine has one session: with an engine for each worker, no test file waits for another's transactions.
  const workers = Math.min(project.config.maxWorkers, project.vitest.state.getPaths().length);
  const databases = await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      server ? createOnServer(server.url, `test${worker}`) : startAnotherEngine(templates?.migrated ?? ''),
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
  project.provide('databaseTemplates', templates);
  project.provide('redisUrl', redis.url);
  return async () => {
    for (const step of undo.reverse()) await step();
  };
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Undefined on a TimescaleDB server. */
    databaseTemplates: DatabaseTemplates | undefined;
  }
}

/** Data directories that embedded engines copy at their start, because creating a database takes seconds. */
interface DatabaseTemplates {
  /** Contains only the extension. */
  readonly empty: string;
  /** Contains all migrations and the roles of the services. */
  readonly migrated: string;
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

async function createTemplates(directory: string): Promise<DatabaseTemplates> {
  const templates = { empty: join(directory, 'empty'), migrated: join(directory, 'migrated') };
  await (await startEmbeddedTimescale({ dataDirectory: templates.empty })).stop();
  await cp(templates.empty, templates.migrated, { recursive: true });
  const engine = await startEmbeddedTimescale({ dataDirectory: templates.migrated });
  await prepare(engine.url);
  await engine.stop();
  return templates;
}

/** Starts another embedded engine: each has one database and a single session, which one idle transaction occupies. */
async function startAnotherEngine(template: string): Promise<OwnDatabase> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-test-'));
  await cp(template, directory, { recursive: true });
  const engine = await startEmbeddedTimescale({ dataDirectory: directory });
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
  const templates = inject('databaseTemplates');
  return templates ? startAnotherEngine(templates.migrated) : createOnServer(testDatabaseUrl(), purpose);
}

/** Copies a template into the data directory of an embedded engine; on a server, the engine creates a database. */
export async function copyTemplate(name: keyof DatabaseTemplates, dataDirectory: string): Promise<void> {
  const templates = inject('databaseTemplates');
  if (templates) await cp(templates[name], dataDirectory, { recursive: true });
}
