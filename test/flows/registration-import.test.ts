import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accessService } from '@odograph/access/service';
import { fleetService } from '@odograph/fleet/service';
import { registrationService } from '@odograph/registration/service';
import { childEnvironment } from '@odograph/runtime/config';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication } from '@odograph/testkit/fixtures';
import { useDirectory, usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';

const commandLine = fileURLToPath(new URL('../../packages/cli/bin.mjs', import.meta.url));

const platform = await usePlatform([fleetService, accessService, registrationService]);
const { admin } = platform;
const directory = useDirectory();

function startImport(file: string, more: readonly string[] = []): ChildProcess {
  const env = childEnvironment({ ODOGRAPH_URL: platform.httpUrl, ADMIN_TOKEN: testAdminToken });
  return spawn(process.execPath, [commandLine, 'registration', 'import', file, ...more], { env });
}

async function textOf(stream: ChildProcess['stdout']): Promise<string> {
  let text = '';
  for await (const chunk of stream ?? []) text += String(chunk);
  return text;
}

async function runImport(file: string, ...more: string[]) {
  const child = startImport(file, more);
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  const [code] = await exited;
  return { code, stderr, summary: stdout === '' ? undefined : JSON.parse(stdout) };
}

async function fileWith(name: string, content: string | Buffer): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}

const recordOf = async (plate: string) => (await admin.get(`/v1/x/admin/registrations/${plate}`)).body.record;

describe('npx odograph registration import', { timeout: 90_000 }, () => {
  it('reads CSV with a BOM, semicolons, quotes, values over several lines, and decimal commas', async () => {
    const lines = [
      '\ufeffplate;certificate.brand;full_version;cylinders_in_liters;tires.0.front_width;tires.1.rear_width',
      'RA-001-RA;RENAULT;"1.6 ""dCi""; Intens";1,6;205;',
      '',
      '"ra 002 ra";"DACIA";"two\nlines";;;255',
    ];
    const { code, summary, stderr } = await runImport(await fileWith('semicolons.csv', lines.join('\r\n')));
    expect([code, stderr]).toEqual([0, '']);
    expect(summary).toMatchObject({
      rows: 2,
      changed: 2,
      unchanged: 0,
      bad: 0,
      resumedAt: 0,
      finished: true,
      faults: [],
    });
    const first = await recordOf('RA-001-RA');
    expect(first.certificate.brand).toBe('RENAULT');
    expect(first.additional_information).toMatchObject({ full_version: '1.6 "dCi"; Intens', cylinders_in_liters: 1.6 });
    expect(first.tires[0].front_width).toBe(205);
    const second = await recordOf('RA-002-RA');
    expect(second.additional_information.full_version).toBe('two\nlines');
    expect([second.tires[0].rear_width, second.tires[1].rear_width]).toEqual([0, 255]);
  });

  it('reports bad rows by line and field, imports the others, and exits with 1 every time', async () => {
    const lines = [
      'plate,vin,seats',
      'RB-001-RA,,5',
      'RB-002-RA,VF1,5',
      '"RB-003-RA",,"5',
      '5"',
      'RB-004-RA,"V"F1,5',
      'RB-005-RA,,5,6',
      'RB-006-RA,,5',
      '',
      ',,5',
      'RB-007-RA,,5',
    ];
    const file = await fileWith('faults.csv', lines.join('\n'));
    const { code, summary, stderr } = await runImport(file);
    expect(code).toBe(1);
    expect(summary).toMatchObject({ rows: 8, changed: 3, bad: 5 });
    const places = summary.faults.map(({ line, field }: { line: number; field: string }) => [line, field]);
    expect(places).toEqual([
      [3, 'vin'],
      [4, 'seats'],
      [6, ''],
      [7, ''],
      [10, 'certificate.plate'],
    ]);
    expect(stderr).toContain(`${file}:3: vin is not a VIN`);
    expect(stderr).toContain(`${file}:6: the row has a misplaced quote`);
    expect((await recordOf('RB-007-RA')).certificate.seats).toBe(5);

    const again = await runImport(file);
    expect(again.code).toBe(1);
    expect(again.summary).toEqual({ ...summary, resumedAt: 8 });
  });

  it('loses only one line to an unclosed quote, however much follows', async () => {
    const rest = Array.from({ length: 8000 }, (_, index) => `RC-${String((index % 900) + 100)}-RA,text`).join('\n');
    const file = await fileWith('open.csv', `plate,color\nRC-001-RA,red\nRC-002-RA,"blue\n${rest}\n`);
    const { code, summary } = await runImport(file);
    expect(code).toBe(1);
    expect(summary).toMatchObject({ rows: 8002, bad: 1 });
    expect(summary.faults).toEqual([{ line: 3, field: '', message: 'has an unclosed quote' }]);

    const short = await runImport(await fileWith('short.csv', 'plate,color\nRC-003-RA,"blue\nRC-004-RA,red\n'));
    expect(short.summary).toMatchObject({ rows: 2, changed: 1, bad: 1, faults: [{ line: 2, field: '' }] });
    expect((await recordOf('RC-004-RA')).additional_information.color).toBe('red');
  });

  it('reads NDJSON, including an answer of the interface', async () => {
    const { plate, ...rest } = (await recordOf('RA-001-RA')).certificate;
    const answer = { ...(await recordOf('RA-001-RA')), certificate: { ...rest, plate: 'RD-001-RA' } };
    expect(plate).toBe('RA-001-RA');
    const lines = [
      JSON.stringify(answer),
      '',
      '{"plate":"RD-002-RA","adblue":true,"seats":5}',
      '{"plate":',
      '{"plate":"RD-003-RA","__proto__":{"seats":1}}',
      `{"plate":"RD-004-RA","color":"${'x'.repeat(200_000)}"}`,
      '7',
      '{"plate":"RD-005-RA"}',
    ];
    const { code, summary } = await runImport(await fileWith('records.ndjson', lines.join('\r\n')));
    expect(code).toBe(1);
    expect(summary).toMatchObject({ rows: 7, changed: 3, bad: 4 });
    expect(summary.faults.map(({ line }: { line: number }) => line)).toEqual([4, 5, 6, 7]);
    expect(await recordOf('RD-001-RA')).toEqual(answer);
  });

  it('is idempotent: the same rows in another file change nothing, --again restarts the file', async () => {
    const file = await fileWith('once.csv', 'plate,model\nRE-001-RA,A\n');
    expect((await runImport(file)).summary).toMatchObject({ resumedAt: 0, changed: 1, unchanged: 0 });
    await runImport(await fileWith('other.csv', 'plate,model\nRE-001-RA,B\n'));
    const repeated = await runImport(file);
    expect(repeated.summary).toMatchObject({ resumedAt: 1, changed: 1 });
    expect(repeated.stderr).toContain('nothing imported: this file was already imported; --again');
    expect((await recordOf('RE-001-RA')).certificate.model).toBe('B');
    const again = await runImport(file, '--again');
    expect(again).toMatchObject({ stderr: '', summary: { resumedAt: 0, changed: 1, unchanged: 0 } });
    expect((await recordOf('RE-001-RA')).certificate.model).toBe('A');
    const same = await runImport(await fileWith('same.csv', 'plate;model\nRE-001-RA;A\n'));
    expect(same.summary).toMatchObject({ changed: 0, unchanged: 1 });
  });

  it('resumes after kill -9', async () => {
    const { appId } = await createApplication(platform.db);
    const count = 5000;
    const letters = 'ABCDEFGHJK';
    const plateOf = (index: number) => {
      const [thousands, hundreds] = [Math.floor(index / 900), (index % 900) + 100];
      return `R${letters[Math.floor(thousands / 10)]}-${hundreds}-R${letters[thousands % 10]}`;
    };
    const rows = Array.from(
      { length: count },
      (_, index) => `${plateOf(index)},MODEL ${index},${index % 250 === 7 ? 'x' : 5}`,
    );
    const file = await fileWith('large.csv', `plate,model,seats\n${rows.join('\n')}\n`);
    const positions = async () => {
      const { rows: found } = await sql<{ position: number }>`
        select position from registration_import join application on application.id = application_id
        where app_id = ${appId}`.execute(platform.db);
      return found[0]?.position ?? 0;
    };
    const first = startImport(file, ['--app', appId]);
    const exited = once(first, 'exit');
    await eventually(async () => expect(await positions()).toBeGreaterThan(0));
    first.kill('SIGKILL');
    await exited;

    const { code, summary } = await runImport(file, '--app', appId);
    expect(summary.resumedAt).toBeGreaterThan(0);
    expect(summary.resumedAt).toBeLessThan(count);
    expect(code).toBe(1);
    expect(summary).toMatchObject({ rows: count, changed: count - 20, unchanged: 0, bad: 20, finished: true });
    const { rows: stored } = await sql<{ count: number }>`
      select count(*) from registration_record join application on application.id = application_id
      where app_id = ${appId}`.execute(platform.db);
    expect(stored[0]?.count).toBe(count - 20);
  });

  it('imports nothing from a file with an unknown column, unless the column is ignored', async () => {
    const file = await fileWith('columns.csv', 'plate,owner\nRF-001-RA,somebody\n');
    const refused = await runImport(file);
    expect([refused.code, refused.summary]).toEqual([1, undefined]);
    expect(refused.stderr).toContain('not fields of a record: "owner"');
    expect((await runImport(file, '--ignore', 'owner')).summary).toMatchObject({ changed: 1, bad: 0 });
  });

  it('suggests an encoding for a file that is not UTF-8', async () => {
    const file = await fileWith('latin.csv', Buffer.from('plate;color\nRG-001-RA;beige foncé\n', 'latin1'));
    const refused = await runImport(file);
    expect([refused.code, refused.summary]).toEqual([1, undefined]);
    expect(refused.stderr).toContain('--encoding windows-1252');
    expect((await runImport(file, '--encoding', 'windows-1252')).code).toBe(0);
    expect((await recordOf('RG-001-RA')).additional_information.color).toBe('beige foncé');
  });

  it('fails with one line for a missing file', async () => {
    const { code, stderr } = await runImport(join(directory, 'missing.csv'));
    expect([code, stderr.trim().split('\n').length]).toEqual([1, 1]);
  });
});
