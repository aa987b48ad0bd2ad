import type { Database } from '@odograph/database/database';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendFile } from '@odograph/http/paging';
import { answers as responses } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Answers } from '../answers.ts';
import { type Reader, readerOf } from '../read-budget.ts';
import { VehicleParameters } from '../schemas.ts';
import { Export, type ExportPosition, exportFileTypes } from './export.ts';
import { ExportQuery } from './schemas.ts';

const File = Type.String({ description: 'the file, in the format of the request' });

const description =
  `Streamed, however long it is: read in parts by time, each in a snapshot of its own. What is stored while it
  runs may be in it or not; nothing is in it twice. An answer that ends early ends without its last chunk, so clients report it.`.replace(
    /\s+/g,
    ' ',
  );

/** Additions to the interface: readings, trips and gaps as files (docs/exports.md). */
export function exportRoutes(answers: Answers, db: Database): RoutePlugin {
  const open = (reader: Reader, one: Export) => answers.open<ExportPosition>(reader, (part) => one.readPart(part));
  return (http) => {
    http.get(
      '/v1/x/vehicles/export',
      {
        exposeHeadRoute: false,
        schema: {
          tags: ['exports'],
          summary: 'Readings, trips or gaps of all vehicles as a file, vehicle by vehicle',
          description,
          querystring: ExportQuery,
          produces: exportFileTypes,
          response: responses(File, 'INVALID_INTERVAL'),
        },
      },
      async (request, reply) => {
        const one = new Export(request.caller, request.query);
        return sendFile(reply, await open(readerOf(request), one), one);
      },
    );

    http.get(
      '/v1/x/vehicle/:id/export',
      {
        exposeHeadRoute: false,
        schema: {
          tags: ['exports'],
          summary: 'Readings, trips or gaps of one vehicle as a file',
          description,
          params: VehicleParameters,
          querystring: ExportQuery,
          produces: exportFileTypes,
          response: responses(File, 'UNKNOWN_VEHICLE', 'INVALID_INTERVAL'),
        },
      },
      async (request, reply) => {
        const { id } = await findVehicle(db, request.caller, request.params.id);
        const one = new Export(request.caller, request.query, id);
        return sendFile(reply, await open(readerOf(request), one), one);
      },
    );
  };
}
