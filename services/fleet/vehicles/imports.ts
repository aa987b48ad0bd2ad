import { findApplicationId } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Http } from '@odograph/http/http';
import { AppId, answers, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { Default } from 'typebox/value';
import { checkLine, importBody, importFile, importOutcome, maxLines } from '../common/csv-import.ts';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { DescriptionFields, Plate } from '../common/vehicle-description.ts';
import { createVehicle } from './admin.ts';

const Imported = Type.Object(
  {
    ...importOutcome,
    vehicles: Type.Array(Type.Object({ id: VehicleId, plate: Plate }, { title: 'ImportedVehicle' }), {
      description: 'the vehicles that were created',
    }),
  },
  { title: 'VehicleImport' },
);

/** A line of a file. */
const Line = Type.Object({ plate: Plate, ...DescriptionFields });
const lineSchema = Compile(Line);

const numberOf = (cell: string): number | string =>
  /^\d+([.,]\d+)?$/.test(cell) ? Number(cell.replace(',', '.')) : cell;

function readVehicle({ seats, tankLitres, accessories, ...cells }: Readonly<Record<string, string>>) {
  const vehicle = Default(Line, {
    ...cells,
    ...(seats !== undefined && { seats: numberOf(seats) }),
    ...(tankLitres !== undefined && { tankLitres: numberOf(tankLitres) }),
    ...(accessories !== undefined && { accessories: accessories.split(/[\s,;]+/) }),
  });
  return checkLine(lineSchema, vehicle);
}

const columns = { names: Object.keys(Line.properties), required: ['plate'], read: readVehicle };

/** The operator's route that creates many vehicles at once from a CSV file. */
export const vehicleImports: FleetRoutes = { operator: [addImportRoute] };

function addImportRoute(http: Http, { db, changes }: Fleet): void {
  const importSchema = {
    summary: 'Create all vehicles of a CSV file in an application, or none',
    description: `The header names the columns ${columns.names.join(', ')}, of which plate is required; accessories are
          separated by spaces. At most ${maxLines} vehicles.`.replace(/\s+/g, ' '),
    body: Type.Object({ appId: AppId, ...importBody('plate,brand,model\nAB-123-CD,Renault,Zoe') }),
    response: answers(Imported, 'UNKNOWN_APPLICATION'),
  };
  http.post('/v1/x/admin/vehicle-imports', { schema: importSchema }, async ({ body, ip, operator }) => {
    const applicationId = await findApplicationId(db, body.appId, operator.applicationIds);
    const origin = operatorOrigin({ ip, operator }, applicationId);
    const { created, ...outcome } = await importFile(db, body, {
      columns,
      create: async (trx, line) => ({ id: await createVehicle(trx, applicationId, line), plate: line.plate }),
      record: (trx, { id }) => auditChange(trx, origin, 'vehicle.create', `vehicle:${id}`),
      transact: (_lines, write) => db.transaction().execute(write),
    });
    await changes.announce({ vehicleIds: created.map(({ id }) => Number(id)) });
    return { ...outcome, vehicles: created };
  });
}
