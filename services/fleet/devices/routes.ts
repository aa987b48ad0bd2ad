import type { Caller, Operator } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { hasPlate } from '@odograph/database/vehicle-conditions';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, DeviceId, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { checkLine, importBody, importFile, importOutcome, maxLines } from '../common/csv-import.ts';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { Plate } from '../common/vehicle-description.ts';
import { operatedDevices } from './admin.ts';
import { canDatabases } from './can-databases.ts';
import {
  changeLinks,
  type LinkChange,
  linkDevice,
  moveDevice,
  recordLinkChange,
  unlinkDevice,
  vehiclesOf,
} from './links.ts';
import { deviceModels } from './models.ts';
import { NewDevice, NewSecrets, provisionDevice, recordProvisioning } from './provisioning.ts';
import { deviceTable } from './table.ts';

const Imported = Type.Object(
  { ...NewSecrets.properties, model: Type.String({ description: 'the device model', examples: ['generic'] }) },
  { title: 'ImportedDevice' },
);
const Outcome = Type.Object(
  {
    ...importOutcome,
    devices: Type.Array(Imported, { description: 'the devices that were created, with their secrets' }),
  },
  { title: 'DeviceImport' },
);

/** A line of a file: a device, whose vehicle may be named by its plate. */
const Line = Type.Object({ ...NewDevice.properties, plate: Type.Optional(Plate) });
const lineSchema = Compile(Line);

function readDevice(cells: Readonly<Record<string, string>>) {
  const checked = checkLine(lineSchema, { bluetoothName: '', bluetoothPin: '', ...cells });
  const isBoth = 'value' in checked && checked.value.vehicleId !== undefined && checked.value.plate !== undefined;
  return isBoth ? { column: 'plate', message: 'and vehicleId are mutually exclusive' } : checked;
}

const columns = { names: Object.keys(Line.properties), required: ['id', 'model'], read: readDevice };

/** The operator's route that provisions many devices at once from a CSV file. */
const deviceImports: FleetRoutes = { operator: [addImportRoute] };

function addImportRoute(http: Http, { db, changes }: Fleet): void {
  const importSchema = {
    summary: 'Create all devices of a CSV file, or none; their secrets are shown only once',
    description: `The header names the columns id, model, appId, vehicleId or plate, bluetoothName and bluetoothPin, of
          which id and model are required. At most ${maxLines} devices.`.replace(/\s+/g, ' '),
    body: Type.Object(importBody('id,model\nunit-0001,generic')),
    response: answers(Outcome),
  };
  http.post('/v1/x/admin/device-imports', { schema: importSchema }, async (request) => {
    const { operator } = request;
    const { lines, faults, created } = await importFile(request.body, {
      columns,
      async create(trx, { plate, ...device }) {
        const vehicleId = plate === undefined ? device.vehicleId : await findByPlate(trx, operator, device, plate);
        return provisionDevice(trx, operator, { ...device, ...(vehicleId !== undefined && { vehicleId }) });
      },
      record: (trx, device) => recordProvisioning(trx, request, device),
      transact(devices, write) {
        const isLinking = devices.some(({ vehicleId, plate }) => vehicleId !== undefined || plate !== undefined);
        return isLinking ? changeLinks(db, write) : db.transaction().execute(write);
      },
    });
    await changes.announce({ vehicleIds: created.flatMap(({ link = {} }) => vehiclesOf(link)) });
    return { lines, faults, devices: created.map(({ secrets, model }) => ({ ...secrets, model })) };
  });
}

/**
 * Finds the vehicle with a plate, in the named application or in all that the operator sees.
 * @throws Failure UNKNOWN_VEHICLE; INVALID_PARAMETER if several applications have one
 */
async function findByPlate(
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

const Link = Type.Object({
  vehicleId: VehicleId,
  deviceId: DeviceId,
  claimCode: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'for a device without an owner: the code that came with it',
      examples: ['K7QX-2M4P'],
    }),
  ),
});
const refusals = [
  'UNKNOWN_DEVICE',
  'INVALID_CLAIM_CODE',
  'UNKNOWN_VEHICLE',
  'UNAUTHORIZED',
  'VEHICLE_ARCHIVED',
  'VEHICLE_ALREADY_LINKED',
] as const;
const route = { tags: ['vehicles and devices'] };

type Change = (trx: Database) => Promise<LinkChange>;

/** POST, PUT and DELETE /v1/device (interface specification, "Vehicles and devices"). */
const links: FleetRoutes = { token: [addLinkRoutes] };
export const deviceRoutes: readonly FleetRoutes[] = [
  ...[links, operatedDevices, deviceImports],
  ...[deviceModels, canDatabases, deviceTable],
];

function addLinkRoutes(http: Http, { db, changes }: Fleet): void {
  const changeLink = async (request: { caller: Caller; ip: string }, deviceId: string, change: Change) => {
    const made = await changeLinks(db, async (trx) =>
      recordLinkChange(trx, originOf(request), deviceId, await change(trx)),
    );
    await changes.announce({ vehicleIds: vehiclesOf(made) });
  };

  const linkSchema = {
    ...route,
    summary: 'Link a device to a vehicle',
    body: Link,
    response: answers(EmptyAnswer, ...refusals, 'DEVICE_ALREADY_LINKED'),
  };
  http.post('/v1/device', { preValidation: leaveOutEmpty('claimCode'), schema: linkSchema }, async (request) => {
    const { caller, body } = request;
    await changeLink(request, body.deviceId, (trx) => linkDevice(trx, caller, body));
    return {};
  });

  const moveSchema = {
    ...route,
    summary: 'Move a device to another vehicle',
    body: Link,
    response: answers(EmptyAnswer, ...refusals),
  };
  http.put('/v1/device', { preValidation: leaveOutEmpty('claimCode'), schema: moveSchema }, async (request) => {
    const { caller, body } = request;
    await changeLink(request, body.deviceId, (trx) => moveDevice(trx, caller, body));
    return {};
  });

  const unlinkSchema = {
    ...route,
    summary: 'Unlink a device from its vehicle',
    body: Type.Object({ deviceId: DeviceId }),
    response: answers(EmptyAnswer, 'UNKNOWN_DEVICE', 'UNAUTHORIZED'),
  };
  http.delete('/v1/device', { schema: unlinkSchema }, async (request) => {
    const { caller, body } = request;
    await changeLink(request, body.deviceId, (trx) => unlinkDevice(trx, caller, body.deviceId));
    return {};
  });
}
