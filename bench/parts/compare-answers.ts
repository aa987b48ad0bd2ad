import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { devNull } from 'node:os';
import { createInterface } from 'node:readline';
import type { Engines, Pool } from './engines.ts';
import { type HttpClient, openHttpClient } from './http-client.ts';
import { figure, printRatio, printRounds, printSection } from './report.ts';

/** A route and the SQL that reads the same rows as JSON text. */
export interface Comparison {
  readonly title: string;
  readonly path: string;
  /** Returns one column of text; without parameters, because psql has none. */
  readonly query: string;
  readonly goal: string;
}

/** The clients of a comparison. */
export interface Comparers {
  readonly client: HttpClient;
  readonly pool: Pool;
  /** Copies the rows of a query out as text; resolves with the milliseconds that psql reports. */
  readonly copyMs: ((query: string) => Promise<number>) | undefined;
}

/** Opens a session of psql; undefined when it is not on the PATH. */
async function openPsql({ databaseUrl, onStop }: Engines): Promise<Comparers['copyMs']> {
  const child = spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', databaseUrl], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const isFound = await Promise.race([once(child, 'spawn').then(() => true), once(child, 'error').then(() => false)]);
  if (!isFound) {
    console.log('psql is not on the PATH; its column is omitted');
    return undefined;
  }
  const exited = once(child, 'exit');
  onStop('psql', async () => {
    child.stdin.end();
    await exited;
  });
  const lines = createInterface({ input: child.stdout });
  child.stdin.write('\\timing on\n');
  return async (query) => {
    const answered = once(lines, 'line') as Promise<[string]>;
    child.stdin.write(`\\copy (${query.replaceAll(/\s+/g, ' ').trim()}) to '${devNull}'\n`);
    const [line] = await Promise.race([answered, exited.then(() => Promise.reject(new Error('psql exited')))]);
    return Number(/^Time: ([\d.]+) ms/.exec(line)?.[1]);
  };
}

/** Opens an HTTP client of the platform and the references. */
export async function openComparers(engines: Engines, httpUrl: string, token: string): Promise<Comparers> {
  return {
    client: openHttpClient(engines, httpUrl, token),
    pool: engines.pool,
    copyMs: await openPsql(engines),
  };
}

const warmUps = 2;

/** Measures an answer over HTTP and plain SQL for the same rows, in turns. @returns the times of the answer, ms */
export async function compareAnswers(
  { client, pool, copyMs }: Comparers,
  { title, path, query, goal }: Comparison,
  rounds: number,
): Promise<number[]> {
  const whole: number[] = [];
  const firstByte: number[] = [];
  const plain: number[] = [];
  const copies: number[] = [];
  let sizes = '';
  for (let round = -warmUps; round < rounds; round += 1) {
    const { totalMs, firstByteMs, bytes } = await client('GET', path);
    const start = performance.now();
    const { rows } = await pool.query<[string]>({ text: query, rowMode: 'array' });
    const plainMs = performance.now() - start;
    const copiedMs = await copyMs?.(query);
    if (round < 0) continue;
    whole.push(totalMs);
    firstByte.push(firstByteMs);
    plain.push(plainMs);
    if (copiedMs !== undefined) copies.push(copiedMs);
    const plainBytes = rows.reduce((sum, [json]) => sum + Buffer.byteLength(json) + 1, 0);
    sizes = `${figure(rows.length)} rows; ${figure(bytes / 1e6)} MB over HTTP, ${figure(plainBytes / 1e6)} MB by SQL`;
  }
  printSection(title, sizes);
  const psql = copyMs === undefined ? {} : { 'psql \\copy': copies };
  printRounds({ 'HTTP, whole': whole, 'HTTP, first byte': firstByte, 'pg client': plain, ...psql }, 'ms');
  printRatio('HTTP', whole, ['pg client', plain]);
  if (copyMs !== undefined) printRatio('HTTP', whole, ['psql \\copy', copies], goal);
  return whole;
}
