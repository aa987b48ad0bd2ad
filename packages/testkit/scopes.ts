import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import type { Limits } from '@odograph/runtime/limits';
import type { Service } from '@odograph/runtime/service';
import { afterAll, onTestFinished } from 'vitest';
import { testDatabaseUrl } from './test-database.ts';
import { startTestPlatform, type TestPlatform } from './test-platform.ts';

/** Starts services for the tests of a file, at its top level; they stop after the last test. */
export async function usePlatform(
  services: readonly Service<Http>[],
  settings: Record<string, string> = {},
  limits: Partial<Limits> = {},
): Promise<TestPlatform> {
  const platform = await startTestPlatform(services, settings, limits);
  afterAll(() => platform.stop());
  return platform;
}

/** Opens connections for the tests of a file, at its top level. @param url by default the database that test files share */
export function useDatabase(size = 2, url = testDatabaseUrl()): Database {
  const db = openDatabase({ url, name: 'test', size });
  afterAll(() => db.destroy());
  return db;
}

function createDirectory(): { directory: string; remove: () => Promise<void> } {
  const directory = mkdtempSync(join(tmpdir(), 'odograph-test-'));
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** Creates a directory for the tests of a file, at its top level; it is removed after the last test. */
export function useDirectory(): string {
  const { directory, remove } = createDirectory();
  afterAll(remove);
  return directory;
}

/** Creates a directory that is removed after the current test. */
export function createTestDirectory(): string {
  const { directory, remove } = createDirectory();
  onTestFinished(remove);
  return directory;
}
