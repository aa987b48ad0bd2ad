import { openDatabase } from '@odograph/database/database';
import { eventually } from '@odograph/testkit/eventually';
import { updateVehicle } from '@odograph/testkit/fixtures';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import exceljs from 'exceljs';
import { sql } from 'kysely';
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { describe, expect, inject, it } from 'vitest';
import { application, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeTrip } from '../reads/trips.fixture.ts';
import { raiseAlarm } from './reports.fixture.ts';

setUpVehicle();

const march = 'from=2025-03-01&until=2025-04-01&timeZone=Europe/Paris';

async function download(kind: string, query: string) {
  const response = await fetch(new URL(`/v1/x/reports/${kind}?${query}`, platform.httpUrl), {
    headers: { 'x-service-token': application.token },
  });
  const { status, headers } = response;
  return { status, headers, content: new Uint8Array(await response.arrayBuffer()) };
}

async function openWorkbook(content: Uint8Array): Promise<exceljs.Workbook> {
  const workbook = new exceljs.Workbook();
  await workbook.xlsx.load(Buffer.from(content) as unknown as ArrayBuffer);
  return workbook;
}

const withoutSpace = (text: string) => text.replaceAll(/\s/g, '');

/** Extracts the text of each page, without white space, which PDF replaces by positions. */
async function readPages(data: Uint8Array): Promise<string[]> {
  const document = await getDocument({ data, useSystemFonts: false }).promise;
  const pages: string[] = [];
  for (let number = 1; number <= document.numPages; number += 1) {
    const { items } = await (await document.getPage(number)).getTextContent();
    pages.push(withoutSpace(items.map((item) => ('str' in item ? item.str : '')).join('')));
  }
  return pages;
}

const storeTrips = async (count: number) => {
  for (let n = 0; n < count; n += 1) {
    await storeTrip(platform.db, vehicle.id, {
      ...{
        started_at: `2025-03-${String((n % 28) + 1).padStart(2, '0')}T0${Math.floor(n / 28)}:30:00Z`,
        distance_km: 1234.5678,
      },
      ended_at: `2025-03-${String((n % 28) + 1).padStart(2, '0')}T0${Math.floor(n / 28)}:45:00Z`,
    });
  }
};

describe('a report as XLSX', () => {
  it('contains numeric cells with units in the headings, and dates in the time zone of the report', async () => {
    await storeTrips(2);
    const { status, headers, content } = await download('trips', `${march}&format=xlsx`);
    expect([status, headers.get('content-disposition')]).toEqual([
      200,
      'attachment; filename="trips-2025-03-01-2025-03-31.xlsx"',
    ]);
    const workbook = await openWorkbook(content);
    expect(workbook.worksheets.map(({ name }) => name)).toEqual(['Trips', 'By vehicle', 'By driver', 'By day']);
    const [heading, first] = workbook.worksheets[0]?.getRows(1, 2) ?? [];
    const headings = heading?.values as string[];
    const cell = (name: string) => first?.getCell(headings.indexOf(name));
    expect(cell('Distance (km)')?.value).toBe(1234.568);
    expect(cell('Distance (km)')?.numFmt).toBe('0.000');
    // 00:30 UTC is 01:30 in Paris; a cell has no time zone.
    expect(cell('Start')?.value).toEqual(new Date('2025-03-01T01:30:00Z'));
    expect(cell('Date')?.value).toEqual(new Date('2025-03-01T00:00:00Z'));
    const days = workbook.getWorksheet('By day');
    expect(days?.getColumn(2).values.slice(2)).toEqual(Array.from({ length: 31 }, (_, day) => (day === 29 ? 23 : 24)));
  });

  it('does not turn user text into formulas', async () => {
    await updateVehicle(platform.db, vehicle.id, { plate: '=HYPERLINK("http://evil.example","AB")' });
    for (const note of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', 'line\u0007bell']) {
      await raiseAlarm('2025-03-01T08:00:00Z', null, note);
    }
    const { content } = await download('alarms', `${march}&format=xlsx`);
    const workbook = await openWorkbook(content);
    const values: unknown[] = [];
    workbook.eachSheet((sheet) =>
      sheet.eachRow((row) =>
        row.eachCell((cell) => {
          expect(cell.type).not.toBe(exceljs.ValueType.Formula);
          expect(cell.type).not.toBe(exceljs.ValueType.Hyperlink);
          values.push(cell.value);
        }),
      ),
    );
    expect(values).toEqual(expect.arrayContaining(['=HYPERLINK("http://evil.example","AB")', '=1+1', '@SUM(A1)']));
  });

  it('has headings in the requested language', async () => {
    const workbook = await openWorkbook((await download('energy', `${march}&format=xlsx&language=fr`)).content);
    expect(workbook.worksheets[0]?.name).toBe('Carburant et énergie');
    expect(workbook.worksheets[0]?.getRow(1).values).toContain('Carburant (l/100 km)');
    const unknown = await download('energy', `${march}&format=xlsx&language=..%2Fen`);
    expect(unknown.status).toBe(400);
  });
});

describe('files', () => {
  it('are read and written two at a time', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded database has one session');
    const waiting = async () => {
      const { rows } = await sql`select from pg_locks where not granted and database =
        (select oid from pg_database where datname = current_database())`.execute(platform.db);
      return rows.length;
    };
    const blocker = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 1 });
    const { downloads } = await blocker.transaction().execute(async (transaction) => {
      await sql`lock table trip in access exclusive mode`.execute(transaction);
      const started = Array.from({ length: 4 }, () => download('trips', `${march}&format=xlsx`));
      await eventually(async () => expect(await waiting()).toBe(2));
      // Answered after the requests above have reached the database or wait for their turn.
      expect((await download('silent-devices', march)).status).toBe(200);
      expect(await waiting()).toBe(2);
      return { downloads: started };
    });
    expect((await Promise.all(downloads)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await blocker.destroy();
  });
});

describe('a report as PDF', () => {
  it('contains title, interval and tables in the requested language, and page numbers', async () => {
    await storeTrips(90);
    const { headers, content } = await download('trips', `${march}&format=pdf&language=fr`);
    expect(headers.get('content-type')).toBe('application/pdf');
    const pages = await readPages(content);
    expect(pages.length).toBeGreaterThan(2);
    expect(pages[0]).toContain(withoutSpace('Trajets'));
    expect(pages[0]).toContain(withoutSpace('Du 2025-03-01 00:00 au 2025-04-01 00:00, fuseau horaire Europe/Paris'));
    expect(pages[0]).toContain(withoutSpace('2025-03-01 01:30'));
    expect(pages[0]).toContain(withoutSpace('1 234,568'));
    for (const [index, page] of pages.entries()) {
      expect(page).toContain(withoutSpace(`Page ${index + 1} sur ${pages.length}`));
    }
    // The heading of a table is repeated on each of its pages.
    expect(pages[1]).toContain(withoutSpace('Distance (km)'));
  });

  it('can be empty, and renders any script', async () => {
    await updateVehicle(platform.db, vehicle.id, { plate: 'AΒГ-1 <b>{0}' });
    const pages = await readPages((await download('utilization', `${march}&format=pdf`)).content);
    expect(pages[0]).toContain(withoutSpace('AΒГ-1 <b>{0}'));
    expect(pages[0]).toContain(withoutSpace('No rows.'));
  });
});
