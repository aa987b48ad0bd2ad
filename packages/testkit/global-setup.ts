import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@odograph/runtime/config';
import type { TestProject } from 'vitest/node';
import { chooseEngineSource, startEngine } from './engines.ts';
import { createOnServer, createTemplate, startAnotherEngine } from './own-database.ts';

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
