import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { readConfig } from '@odograph/runtime/config';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { applyDatabaseRoles } from './database-roles.ts';
import { chooseEngineSource, startEngine } from './engines.ts';

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string;
    /** A second database, embedded a second engine, for tests whose open transactions and silent connections block others. */
    faultsDatabaseUrl: string;
    redisUrl: string;
    /** Whether the database is a TimescaleDB server; the embedded engine has one session and no background jobs. */
    isNativeDatabase: boolean;
  }
}

type Undo = () => Promise<unknown>;

/** Creates a database for this run; `undo` drops it. */
async function createDatabase(serverUrl: string, purpose: string, undo: Undo[]): Promise<string> {
  const name = `odograph_${purpose}_${process.pid}_${Date.now()}`;
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  undo.push(async () => {
    await client.query(`drop database ${name} with (force)`);
    await client.end();
  });
  await client.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Starts another embedded engine: each has a single session, which one idle transaction occupies. */
async function startSecondEngine(directory: string, undo: Undo[]): Promise<string> {
  const engine = await startEngine('TimescaleDB', undefined, join(directory, 'faults'));
  undo.push(engine.stop);
  return engine.url;
}

/** Provides the engines of a test run, configured, in containers or embedded (engines.ts), and migrates their databases. */
export default async function setup(project: TestProject): Promise<Undo> {
  const { DATABASE_URL, REDIS_URL } = readConfig();
  const undo: Undo[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'odograph-test-'));
  undo.push(() => rm(directory, { recursive: true, force: true }));

  const server = await startEngine('TimescaleDB', DATABASE_URL, directory);
  undo.push(server.stop);
  const isNative = chooseEngineSource(DATABASE_URL) !== 'embedded';
  const databaseUrl = isNative ? await createDatabase(server.url, 'test', undo) : server.url;
  const faultsDatabaseUrl = isNative
    ? await createDatabase(server.url, 'faults', undo)
    : await startSecondEngine(directory, undo);
  for (const url of [databaseUrl, faultsDatabaseUrl]) await migrate(url);
  if (project.vite.config.mode === 'roles') await applyDatabaseRoles(databaseUrl);
  const redis = await startEngine('Redis', REDIS_URL, directory);
  undo.push(redis.stop);

  project.provide('databaseUrl', databaseUrl);
  project.provide('faultsDatabaseUrl', faultsDatabaseUrl);
  project.provide('isNativeDatabase', isNative);
  project.provide('redisUrl', redis.url);
  return async () => {
    for (const step of undo.reverse()) await step();
  };
}
