import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { readConfig } from '@odograph/runtime/config';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { applyDatabaseRoles } from './database-roles.ts';

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string;
    /** For tests that leave transactions hanging, which others would have to wait for; embedded, there is only one. */
    faultsDatabaseUrl: string;
    redisUrl: string;
  }
}

type Undo = () => Promise<unknown>;

/** A database of its own on a given server, so that a test run leaves nothing behind. */
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

/** Real engines for one test run: those of DATABASE_URL and REDIS_URL, else embedded ones in a temporary directory. */
export default async function setup(project: TestProject): Promise<Undo> {
  const config = readConfig();
  const undo: Undo[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'odograph-test-'));
  undo.push(() => rm(directory, { recursive: true, force: true }));

  let databaseUrl: string;
  let faultsDatabaseUrl: string;
  if (config.DATABASE_URL !== undefined) {
    databaseUrl = await createDatabase(config.DATABASE_URL, 'test', undo);
    faultsDatabaseUrl = await createDatabase(config.DATABASE_URL, 'faults', undo);
    await migrate(faultsDatabaseUrl);
  } else {
    const { startEmbeddedTimescale } = await import('@odograph/embedded/postgres/timescaledb');
    const engine = await startEmbeddedTimescale({ dataDirectory: join(directory, 'timescaledb') });
    undo.push(engine.stop);
    databaseUrl = engine.url;
    faultsDatabaseUrl = engine.url;
  }
  await migrate(databaseUrl);
  if (project.vite.config.mode === 'roles') await applyDatabaseRoles(databaseUrl);
  project.provide('databaseUrl', databaseUrl);
  project.provide('faultsDatabaseUrl', faultsDatabaseUrl);

  if (config.REDIS_URL !== undefined) {
    project.provide('redisUrl', config.REDIS_URL);
  } else {
    const { startEmbeddedRedis } = await import('@odograph/embedded/redis/redis');
    const engine = await startEmbeddedRedis({ dataDirectory: join(directory, 'redis') });
    undo.push(engine.stop);
    project.provide('redisUrl', engine.url);
  }
  return async () => {
    for (const step of undo.reverse()) await step();
  };
}
