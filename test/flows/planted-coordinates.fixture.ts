import type { Database } from '@odograph/database/database';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { eventually } from '@odograph/testkit/eventually';
import { sql } from 'kysely';

/** The digits of a coordinate hidden in test data; the decimal point follows the second. */
export type Planted = string;

/** The forms that JSON allows for one number. */
export const numberForms: readonly ((digits: Planted) => string)[] = [
  (digits) => `${digits.slice(0, 2)}.${digits.slice(2)}`,
  (digits) => `${digits.slice(0, 2)}.${digits.slice(2)}000`,
  (digits) => `${digits.slice(0, 1)}.${digits.slice(1)}e1`,
  (digits) => `${digits}E-${digits.length - 2}`,
];

/** The base64 forms of a text at any offset within another text, without the characters that depend on the latter. */
function inBase64(text: string): string[] {
  return [0, 1, 2].map((before) =>
    Buffer.from(' '.repeat(before) + text)
      .toString('base64')
      .slice(before === 0 ? 0 : 4)
      .replace(/.{3}=*$/, ''),
  );
}

/** Every trace of a coordinate: its number forms as text, in hexadecimal and in base64. */
export function tracesOf(digits: Planted): string[] {
  const texts = [`${digits.slice(0, 2)}.${digits.slice(2)}`, `${digits.slice(0, 1)}.${digits.slice(1)}`, digits];
  return texts.flatMap((text) => [text, Buffer.from(text).toString('hex'), ...inBase64(text)]);
}

/** Finds the coordinates that left a trace in a text. */
export function tracedIn(text: string, planted: readonly Planted[]): Planted[] {
  return planted.filter((digits) => tracesOf(digits).some((trace) => text.includes(trace)));
}

/** Finds tables and chunks with a row that holds one of the coordinates. A compressed chunk is read through its table. */
export async function searchDatabase(db: Database, planted: readonly Planted[]): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', nspname, relname) as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relkind in ('r', 'p', 'm') and nspname not in ('pg_catalog', 'information_schema')
      and nspname !~ '^pg_(toast|temp)' and relname !~ '^(compress_hyper|_compressed_hypertable)_'
      order by 1`.execute(db);
  const pattern = planted.flatMap(tracesOf).join('|').replaceAll('.', '\\.').replaceAll('+', '\\+');
  const found: string[] = [];
  for (const { name } of tables) {
    // A chunk of another test may have been dropped meanwhile.
    const { rows } = await sql`select 1 from ${sql.raw(name)} as t where t::text ~ ${pattern} limit 1`
      .execute(db)
      .catch((error: unknown) => {
        if (error instanceof Error && /does not exist/.test(error.message)) return { rows: [] };
        throw error;
      });
    if (rows.length > 0) found.push(name);
  }
  return found;
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'stream':
      return redis.xrange(key, '-', '+');
    default:
      return null;
  }
}

/** Finds the Redis keys of a platform with one of the coordinates in name or content. */
export async function searchRedis(url: string, prefix: string, planted: readonly Planted[]): Promise<string[]> {
  const redis = connectRedis(url, createLogger('silent'));
  try {
    await eventually(() => redis.ping());
    const found: string[] = [];
    for (let cursor = '0', first = true; first || cursor !== '0'; first = false) {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `*${prefix}*`, 'COUNT', 1000);
      cursor = next;
      for (const key of keys) {
        const content = JSON.stringify([key, await contentOf(redis, key)]);
        if (tracedIn(content, planted).length > 0) found.push(key);
      }
    }
    return found;
  } finally {
    redis.disconnect();
  }
}
