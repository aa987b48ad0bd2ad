import type { Operator, OperatorRequest } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { hasPlate } from '@odograph/database/vehicle-conditions';
import type { Http } from '@odograph/http/http';
import { answers, text } from '@odograph/http/schemas';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { type Kysely, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { Plate } from '../common/vehicle-description.ts';
import { changeLinks, vehiclesOf } from './links.ts';
import { NewDevice, NewSecrets, type ProvisionedDevice, provisionDevice, recordProvisioning } from './provisioning.ts';

const maxCharacters = 900_000;
const Fault = Type.Object(
  {
    line: Type.Integer({ minimum: 1, description: 'counted from 1, with the header', examples: [2] }),
    column: Type.String({ description: 'empty for the whole line', examples: ['model'] }),
    message: Type.String({ examples: ['must not be empty'] }),
  },
  { title: 'DeviceImportFault' },
);
const Imported = Type.Object(
  { ...NewSecrets.properties, model: Type.String({ description: 'the device model', examples: ['generic'] }) },
  { title: 'ImportedDevice' },
);
const Outcome = Type.Object(
  {
    lines: Type.Integer({ minimum: 0, description: 'devices in the file', examples: [2] }),
    faults: Type.Array(Fault, { description: 'at most one of each line; with any, nothing is written' }),
    devices: Type.Array(Imported, { description: 'the devices that were created, with their secrets' }),
  },
  { title: 'DeviceImport' },
);

/** Ends a transaction without writing anything. */
class Discarded extends Error {}

/** The fault of a line that cannot be provisioned. @throws what is no failure of the line */
function toFault(line: number, error: unknown): LineFault {
  if (!(error instanceof Failure)) throw error;
  const { field = '' } = error.details;
  return { line, column: field, message: field ? error.message.replace(`${field} `, '') : error.message };
}

/** Provisions the devices of lines in a transaction. @returns them, and the faults of the lines that cannot be */
async function provisionLines(trx: Database, { operator }: OperatorRequest, lines: readonly DeviceLine[]) {
  const devices: ProvisionedDevice[] = [];
  const faults: LineFault[] = [];
  for (const { line, device } of lines) {
    const { plate, ...rest } = device;
    try {
      const vehicleId = plate === undefined ? rest.vehicleId : await findVehicleByPlate(trx, operator, device, plate);
      devices.push(await provisionDevice(trx, operator, { ...rest, ...(vehicleId !== undefined && { vehicleId }) }));
    } catch (error) {
      faults.push(toFault(line, error));
    }
  }
  return { devices, faults };
}

/** Finds the faults of all lines, by provisioning them in a transaction that is rolled back. */
async function findFaults(db: Kysely<Tables>, request: OperatorRequest, lines: readonly DeviceLine[]) {
  const trx = await db.startTransaction().execute();
  try {
    return (await provisionLines(trx, request, lines)).faults;
  } finally {
    await trx.rollback().execute();
  }
}

/** Provisions all lines, or none. @returns the faults because of which nothing was written */
async function writeLines(db: Kysely<Tables>, request: OperatorRequest, lines: readonly DeviceLine[]) {
  let faults: LineFault[] = [];
  const isLinking = lines.some(({ device }) => device.vehicleId !== undefined || device.plate !== undefined);
  const write = async (trx: Database): Promise<ProvisionedDevice[]> => {
    const provisioned = await provisionLines(trx, request, lines);
    ({ faults } = provisioned);
    if (faults.length > 0) throw new Discarded();
    for (const device of provisioned.devices) await recordProvisioning(trx, request, device);
    return provisioned.devices;
  };
  const writing = isLinking ? changeLinks(db, write) : db.transaction().execute(write);
  const devices = await writing.catch((error: unknown) => {
    if (error instanceof Discarded) return [];
    throw error;
  });
  return { faults, devices };
}

/** The operator's route that provisions many devices at once from a CSV file. */
export const deviceImports: FleetRoutes = { operator: [addImportRoute] };

function addImportRoute(http: Http, { db, changes }: Fleet): void {
  const importSchema = {
    summary: 'Create all devices of a CSV file, or none; their secrets are shown only once',
    description: `The header names the columns id, model, appId, vehicleId or plate, bluetoothName and bluetoothPin, of
          which id and model are required. At most ${maxDevices} devices.`.replace(/\s+/g, ' '),
    body: Type.Object({
      csv: text(1, maxCharacters, { examples: ['id,model\nunit-0001,generic'] }),
      check: Type.Boolean({ default: false, description: 'only finds the faults of all lines' }),
    }),
    response: answers(Outcome),
  };
  http.post('/v1/x/admin/device-imports', { schema: importSchema }, async (request) => {
    const { csv, check } = request.body;
    const { lines, faults: unreadable } = readFile(csv);
    const inOrder = (faults: readonly LineFault[]) =>
      [...unreadable, ...faults].sort((one, other) => one.line - other.line);
    const count = new Set([...lines, ...unreadable].map(({ line }) => line)).size;
    if (check || unreadable.length > 0) {
      return { lines: count, faults: inOrder(await findFaults(db, request, lines)), devices: [] };
    }
    const { faults, devices } = await writeLines(db, request, lines);
    await changes.announce({ vehicleIds: devices.flatMap(({ link = {} }) => vehiclesOf(link)) });
    return {
      lines: count,
      faults: inOrder(faults),
      devices: devices.map(({ secrets, model }) => ({ ...secrets, model })),
    };
  });
}

/** Devices of one file: they are written in one transaction, which ingest waits for when they are linked. */
export const maxDevices = 1000;

/** A line of a file: a device, whose vehicle may be named by its plate. */
const Line = Type.Object({ ...NewDevice.properties, plate: Type.Optional(Plate) });
type Line = Static<typeof Line>;
const checkLine = Compile(Line);
const columns: readonly string[] = Object.keys(Line.properties);

type LineFault = Static<typeof Fault>;

type DeviceLine = { readonly line: number; readonly device: Line };

const wholeLine = (line: number, message: string): LineFault => ({ line, column: '', message });

/** The separator that the header has: spreadsheets of many languages write semicolons. */
function findDelimiter(csv: string): string {
  const [header = ''] = csv.split(/\r?\n/, 1);
  const counts = [',', ';', '\t'].map((one) => [one, header.split(one).length] as const);
  return counts.reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function checkHeader(header: readonly string[]): LineFault[] {
  const unknown = header.filter((name) => !columns.includes(name));
  const missing = ['id', 'model'].filter((name) => !header.includes(name));
  const twice = header.filter((name, index) => header.indexOf(name) !== index);
  return [
    ...unknown.map((column) => ({ line: 1, column, message: `is not a column: use ${columns.join(', ')}` })),
    ...missing.map((column) => ({ line: 1, column, message: 'is missing in the first line' })),
    ...twice.map((column) => ({ line: 1, column, message: 'must not be there twice' })),
  ];
}

/** Reads the cells of a line as a device. */
function readLine(line: number, header: readonly string[], cells: readonly string[]): DeviceLine | LineFault {
  if (cells.length > header.length) return wholeLine(line, `has ${cells.length} values for ${header.length} columns`);
  const given = header.flatMap((name, index) => (cells[index] ? [[name, cells[index]]] : []));
  const device: unknown = { bluetoothName: '', bluetoothPin: '', ...Object.fromEntries(given) };
  if (!checkLine.Check(device)) {
    const { field, rule } = describeSchemaFaults(checkLine.Errors(device));
    return { line, column: field, message: rule };
  }
  const isBoth = device.vehicleId !== undefined && device.plate !== undefined;
  return isBoth ? { line, column: 'plate', message: 'and vehicleId exclude each other' } : { line, device };
}

/** Reads a CSV file of devices: a header with names of columns, in any order, and a line for each device. */
export function readFile(csv: string): { lines: DeviceLine[]; faults: LineFault[] } {
  const options = { bom: true, trim: true, relax_column_count: true, skip_empty_lines: true, info: true } as const;
  try {
    const rows = parse(csv, { ...options, delimiter: findDelimiter(csv) }) as unknown as {
      record: string[];
      info: { lines: number };
    }[];
    const [header, ...rest] = rows;
    if (header === undefined) return { lines: [], faults: [wholeLine(1, 'the file is empty')] };
    const faults = checkHeader(header.record);
    if (faults.length > 0) return { lines: [], faults };
    if (rest.length === 0) return { lines: [], faults: [wholeLine(1, 'no device follows the header')] };
    if (rest.length > maxDevices) {
      const message = `a file may have ${maxDevices} devices, this has ${rest.length}`;
      return { lines: [], faults: [wholeLine(1, message)] };
    }
    const read = rest.map(({ record, info }) => readLine(info.lines, header.record, record));
    return { lines: read.filter((one) => 'device' in one), faults: read.filter((one) => 'message' in one) };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number(error['lines'] ?? 1);
    const isQuote = error.code.includes('QUOTE');
    return { lines: [], faults: [wholeLine(line, isQuote ? 'has a misplaced quote' : 'is not valid CSV')] };
  }
}

/**
 * Finds the vehicle with a plate, in the named application or in all that the operator sees.
 * @throws Failure UNKNOWN_VEHICLE; INVALID_PARAMETER if several applications have one
 */
async function findVehicleByPlate(
  db: Database,
  { applicationIds }: Operator,
  { appId }: { readonly appId?: string | undefined },
  plate: string,
): Promise<string> {
  const { rows } = await sql<{ id: string }>`select vehicle.id::text as id from vehicle
    join application on application.id = vehicle.application_id
    where vehicle.deleted_at is null and ${hasPlate(plate)}
      and (${appId ?? null}::text is null or application.app_id = ${appId ?? null}::text)
      and (${applicationIds === undefined} or application.id = any (${[...(applicationIds ?? [])]}::integer[]))
    limit 2`.execute(db);
  const [vehicle, another] = rows;
  if (!vehicle) throw new Failure('UNKNOWN_VEHICLE', 'no such vehicle', { field: 'plate' });
  if (another) throw invalidParameter('plate', 'names vehicles of several applications: give appId');
  return vehicle.id;
}
