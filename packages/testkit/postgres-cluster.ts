import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { Client } from 'pg';
import { inject } from 'vitest';
import { applyDatabaseRoles } from './database-roles.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';

/** Finds the directory of the PostgreSQL programs (on Debian, one per version); undefined without TimescaleDB. */
function findPrograms(): string | undefined {
  const versions = '/usr/lib/postgresql';
  const found = existsSync(versions) ? readdirSync(versions) : [];
  const version = found.find((name) => existsSync(join(versions, name, 'lib/timescaledb.so')));
  return version && join(versions, version, 'bin');
}

const programs = findPrograms() ?? '';

/** Tells whether tests with standbys can run: they need a TimescaleDB server and its programs on this machine. */
export const canReplicate = (): boolean => programs !== '' && inject('isNativeDatabase');

/** PostgreSQL refuses to run as root; its packages create a user for it. */
function findOwner(): { uid: number; gid: number } {
  const { uid, gid } = userInfo();
  if (uid !== 0) return { uid, gid };
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

type Owner = ReturnType<typeof findOwner>;

/** A server of the cluster. */
export interface PostgresServer {
  readonly url: string;
  /** Runs a statement as the superuser. */
  query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Stops the server, either like a crash or gracefully. */
  end(signal: 'SIGKILL' | 'SIGINT'): Promise<void>;
  start(): Promise<void>;
}

/** PostgreSQL servers with TimescaleDB on this machine. */
export interface PostgresCluster {
  readonly primary: PostgresServer;
  /** Starts a streaming standby of the current primary; a synchronous one confirms every commit from then on. */
  addStandby(name: string, kind: 'synchronous' | 'asynchronous', of?: PostgresServer): Promise<PostgresServer>;
  /** Stops all servers and removes their data. */
  stop(): Promise<void>;
}

async function run(program: string, parameters: readonly string[], owner: Owner): Promise<void> {
  const child = spawn(join(programs, program), parameters, { ...owner, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${program} failed: ${output}`);
}

async function runStatement(url: string, statement: string) {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

async function startServer(directory: string, owner: Owner): Promise<PostgresServer> {
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const parameters = ['-D', directory, '-p', String(port)];
    const server = spawn(join(programs, 'postgres'), parameters, { ...owner, cwd: '/', stdio: 'ignore' });
    child = server;
    await eventually(async () => {
      if (server.exitCode !== null) throw new Error(`PostgreSQL in ${directory} exited`);
      await runStatement(url, 'select 1');
    }, 60_000);
  };
  await start();
  return {
    ...{ url, start, query: (statement) => runStatement(url, statement) },
    async end(signal) {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
  };
}

const settings = `
shared_preload_libraries = 'timescaledb'
timescaledb.telemetry_level = off
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 32MB
wal_keep_size = 512MB
hot_standby_feedback = on
`;

/** Starts a primary with a migrated database and the roles of the services; the caller stops the cluster. */
export async function startPostgresCluster(): Promise<PostgresCluster> {
  const owner = findOwner();
  const directory = mkdtempSync(join(tmpdir(), 'odograph-cluster-'));
  chownSync(directory, owner.uid, owner.gid);
  const data = join(directory, 'primary');
  await run('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale', 'C'], owner);
  await appendFile(join(data, 'postgresql.conf'), settings);
  const primary = await startServer(data, owner);
  const servers = [primary];
  await migrate(primary.url);
  await applyDatabaseRoles(primary.url);
  return {
    primary,
    async addStandby(name, kind, of = primary) {
      const standbyData = join(directory, name);
      const source = `${of.url}?application_name=${name}`;
      await run('pg_basebackup', ['-D', standbyData, '-d', source, '-R', '-X', 'stream', '-c', 'fast'], owner);
      const standby = await startServer(standbyData, owner);
      servers.push(standby);
      if (kind === 'synchronous') {
        await of.query(`alter system set synchronous_standby_names = '${name}'`);
        await of.query('select pg_reload_conf()');
      }
      return standby;
    },
    async stop() {
      for (const server of servers) await server.end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}
