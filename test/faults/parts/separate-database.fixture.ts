import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '@odograph/database/database';
import { startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { holderPid } from '@odograph/embedded/process/engine-owner.fixture';
import { copyTemplate } from '@odograph/testkit/global-setup';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { sql } from 'kysely';
import { inject } from 'vitest';

/** A database for one test: empty on a server; on an embedded engine, a copy with all migrations, which starts faster. */
export interface SeparateDatabase {
  readonly url: string;
  /** The embedded engine has one session, so no transaction can wait for another's lock. */
  readonly embedded: boolean;
  /** Kills the embedded engine, which its supervisor restarts; does nothing to a given server. */
  kill(): void;
  drop(): Promise<void>;
}

async function createOnServer(serverUrl: string): Promise<SeparateDatabase> {
  const name = `odograph_faults_${randomUUID().replaceAll('-', '')}`;
  const run = async (statement: string): Promise<void> => {
    const db = openDatabase({ url: serverUrl, name: 'faults', size: 1 });
    try {
      await sql.raw(statement).execute(db);
    } finally {
      await db.destroy();
    }
  };
  await run(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    embedded: false,
    kill: () => undefined,
    drop: () => run(`drop database ${name} with (force)`),
  };
}

async function startEmbedded(): Promise<SeparateDatabase> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-faults-database-'));
  await copyTemplate('migrated', directory);
  const engine = await startEmbeddedTimescale({ dataDirectory: directory });
  const drop = async (): Promise<void> => {
    await engine.stop();
    await rm(directory, { recursive: true, force: true });
  };
  const kill = (): void => {
    try {
      process.kill(holderPid(directory), 'SIGKILL');
    } catch {
      // It is already restarting.
    }
  };
  return { url: engine.url, embedded: true, kill, drop };
}

/** Creates a database on the server of this run, or an embedded engine if the run uses one; the caller drops it. */
export function createSeparateDatabase(): Promise<SeparateDatabase> {
  return inject('isNativeDatabase') ? createOnServer(testDatabaseUrl()) : startEmbedded();
}
