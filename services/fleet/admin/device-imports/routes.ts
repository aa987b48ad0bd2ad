import type { OperatorRequest } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, text } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changeLinks, vehiclesOf } from '../../devices/queries.ts';
import { NewSecrets, type ProvisionedDevice, provisionDevice, recordProvisioning } from '../devices/provisioning.ts';
import { findVehicleByPlate } from './queries.ts';
import { type DeviceLine, type LineFault, maximumDevices, readFile } from './rules.ts';

const maximumCharacters = 900_000;
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
async function findFaults(
  db: Kysely<Tables>,
  request: OperatorRequest,
  lines: readonly DeviceLine[],
): Promise<LineFault[]> {
  let faults: LineFault[] = [];
  const attempt = db.transaction().execute(async (trx) => {
    ({ faults } = await provisionLines(trx, request, lines));
    throw new Discarded();
  });
  await attempt.catch((error: unknown) => {
    if (!(error instanceof Discarded)) throw error;
  });
  return faults;
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
export function operatorDeviceImportRoutes(db: Kysely<Tables>, changes: ChangeAnnouncer): RoutePlugin {
  return (http) => {
    http.post(
      '/v1/x/admin/device-imports',
      {
        schema: {
          summary: 'Create all devices of a CSV file, or none; their secrets are shown only once',
          description:
            `The header names the columns id, model, appId, vehicleId or plate, bluetoothName and bluetoothPin, of
            which id and model are required. At most ${maximumDevices} devices.`.replace(/\s+/g, ' '),
          body: Type.Object({
            csv: text(1, maximumCharacters, { examples: ['id,model\nunit-0001,generic'] }),
            check: Type.Boolean({ default: false, description: 'only finds the faults of all lines' }),
          }),
          response: answers(Outcome),
        },
      },
      async (request) => {
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
      },
    );
  };
}
