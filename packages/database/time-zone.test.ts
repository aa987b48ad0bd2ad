import { readFile } from 'node:fs/promises';
import { isTimeZone } from '@odograph/contracts/time-zone';
import { createApplication } from '@odograph/testkit/fixtures';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { openDatabase } from './database.ts';
import { requireTimeZone } from './time-zone.ts';

const config = await testConfig();
const db = openDatabase({ url: config.DATABASE_URL, name: 'test-zones', size: 2 });
afterAll(() => db.destroy());

const moments = ['2025-01-15T12:00:00Z', '2025-07-15T12:00:00Z'] as const;

/** The local times of a zone in January and July, as `2025-01-15 13:00`. */
function localTimes(timeZone: string): string[] {
  const format = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'short', timeZone });
  return moments.map((moment) => format.format(new Date(moment)));
}

describe('a time zone', () => {
  it('has the same offset in JavaScript and PostgreSQL, whichever name of theirs is accepted', async () => {
    const { rows } = await sql<{ name: string }>`select name from pg_timezone_names
      union select abbrev from pg_timezone_abbrevs union select lower(name) from pg_timezone_names`.execute(db);
    const names = [...rows.map(({ name }) => name), ...Intl.supportedValuesOf('timeZone')];
    const accepted = [...new Set(names)].filter((name) => isTimeZone(name));
    expect(accepted).toEqual(expect.arrayContaining(['UTC', 'GMT', 'Europe/Paris', 'europe/paris', 'Etc/GMT+5']));
    const columns = moments.map(
      (moment) => sql<string>`to_char(${moment}::timestamptz at time zone name, 'YYYY-MM-DD HH24:MI')`,
    );
    const { rows: zones } = await sql<{
      name: string;
      times: string[];
    }>`select name, array[${sql.join(columns)}] as times
      from unnest(${accepted}::text[]) as name`.execute(db);
    expect(zones).toEqual(accepted.map((name) => ({ name, times: localTimes(name) })));
  });

  it.each([
    'CET',
    'cet',
    'EST',
    'PST',
    'PLT',
    '+01:00',
    'posixrules',
    'Mars/Olympus',
    'SystemV/PST8',
    'US/Pacific-New',
  ])('is not %s, which JavaScript and PostgreSQL do not both know as a zone', async (name) => {
    await expect(requireTimeZone(db, 'zone', name)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { field: 'zone' },
    });
  });

  it('stored under a former name becomes its successor, and a schedule keeps its local due time', async () => {
    const { id } = await createApplication(db);
    await sql`update application set time_zone = 'CET' where id = ${id}`.execute(db);
    await sql`insert into report_schedule
        (application_id, kind, format, every, time_zone, hour, language, recipients, next_due_at)
      values (${id}, 'trips', 'pdf', 'month', 'cet', 6, 'en', '{ann@example.com}', '2025-07-01T05:00:00Z')`.execute(db);
    const migration = new URL('../../migrations/0029_time_zones.sql', import.meta.url);
    await sql.raw(await readFile(migration, 'utf8')).execute(db);
    const { rows } =
      await sql`select application.time_zone as own, report_schedule.time_zone as zone, next_due_at as due
      from application join report_schedule on application_id = application.id where application.id = ${id}`.execute(
        db,
      );
    expect(rows).toEqual([{ own: 'Europe/Brussels', zone: 'Europe/Brussels', due: new Date('2025-07-01T04:00:00Z') }]);
  });
});
