import type { Pool } from './engines.ts';
import type { HttpClient } from './http-client.ts';
import type { Psql } from './psql.ts';
import { figure, printRatio, printRounds, printSection } from './report.ts';

/** A route and the SQL that reads the same rows as JSON text. */
export interface Comparison {
  readonly title: string;
  readonly path: string;
  /** Returns one column of text; without parameters, because psql has none. */
  readonly query: string;
  readonly goal: string;
}

export interface Comparers {
  readonly client: HttpClient;
  readonly pool: Pool;
  readonly psql: Psql | undefined;
}

const warmUps = 2;

async function timePgMs(pool: Pool, text: string): Promise<{ ms: number; rows: number; bytes: number }> {
  const start = performance.now();
  const { rows } = await pool.query<[string]>({ text, rowMode: 'array' });
  const ms = performance.now() - start;
  return { ms, rows: rows.length, bytes: rows.reduce((sum, [json]) => sum + Buffer.byteLength(json) + 1, 0) };
}

/** Measures an answer over HTTP and plain SQL for the same rows, in turns. @returns the times of the answer, ms */
export async function compareAnswers(
  { client, pool, psql }: Comparers,
  { title, path, query, goal }: Comparison,
  rounds: number,
): Promise<number[]> {
  const series = { 'HTTP, whole': [] as number[], 'HTTP, first byte': [] as number[] };
  const references = { 'pg client': [] as number[], 'psql \\copy': [] as number[] };
  let sizes = '';
  for (let round = -warmUps; round < rounds; round += 1) {
    const { totalMs, firstByteMs, bytes } = await client.send('GET', path);
    const plain = await timePgMs(pool, query);
    const copyMs = await psql?.copyMs(query);
    if (round < 0) continue;
    series['HTTP, whole'].push(totalMs);
    series['HTTP, first byte'].push(firstByteMs);
    references['pg client'].push(plain.ms);
    if (copyMs !== undefined) references['psql \\copy'].push(copyMs);
    sizes = `${figure(plain.rows)} rows; ${figure(bytes / 1e6)} MB over HTTP, ${figure(plain.bytes / 1e6)} MB by SQL`;
  }
  printSection(title, sizes);
  const given = psql === undefined ? { 'pg client': references['pg client'] } : references;
  printRounds({ ...series, ...given }, 'ms');
  printRatio('HTTP', series['HTTP, whole'], ['pg client', references['pg client']]);
  if (psql !== undefined) printRatio('HTTP', series['HTTP, whole'], ['psql \\copy', references['psql \\copy']], goal);
  return series['HTTP, whole'];
}
