import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@odograph/runtime/config';
import type { TestProject } from 'vitest/node';
import { chooseEngineSource, startEngine } from './engines.ts';
import { createOwnDatabase } from './own-database.ts';

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

/** Provides the engines of a test run, configured, in containers or embedded (engines.ts), and migrates their databases. */
export default async function setup(project: TestProject): Promise<Undo> {
  const { DATABASE_URL, REDIS_URL } = readConfig();
  const undo: Undo[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'odograph-test-'));
  undo.push(() => rm(directory, { recursive: true, force: true }));

  const isNative = chooseEngineSource(DATABASE_URL) !== 'embedded';
  const server = isNative ? await startEngine('TimescaleDB', DATABASE_URL, directory) : undefined;
  if (server) undo.push(server.stop);
  const database = await createOwnDatabase(server?.url, 'test');
  undo.push(database.drop);
  const faultsDatabase = await createOwnDatabase(server?.url, 'faults');
  undo.push(faultsDatabase.drop);
  const redis = await startEngine('Redis', REDIS_URL, directory);
  undo.push(redis.stop);

  project.provide('databaseUrl', database.url);
  project.provide('faultsDatabaseUrl', faultsDatabase.url);
  project.provide('isNativeDatabase', isNative);
  project.provide('redisUrl', redis.url);
  return async () => {
    for (const step of undo.reverse()) await step();
  };
}
