import type { Database } from '@odograph/database/database';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendStoredFile } from '@odograph/http/file-answer';
import { IdempotencyKey, markReplayed } from '@odograph/http/idempotency';
import { sendFile } from '@odograph/http/paging';
import { AppId, EmptyAnswer, answers as responses, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Answers } from '../shared/answers.ts';
import { type Reader, readerOf } from '../shared/read-budget.ts';
import { VehicleParameters } from '../shared/schemas.ts';
import { Export, type ExportCursor, exportFileTypes } from './export.ts';
import type { ExportJobs } from './export-jobs.ts';
import { ExportQuery, ExportState, exportParameters } from './schemas.ts';

const ExportRequest = Type.Object({ ...exportParameters, vehicleId: Type.Optional(VehicleId) });
const ExportPath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'export', examples: ['7d4f8c62-0c4b-4f0e-9a60-0c2f3d1b5a77'] }),
});
const path = '/v1/x/exports/:id';

/** Additions to the interface: exports that are written to a file, for downloads that can be resumed (docs/exports.md). */
export function exportJobRoutes(jobs: ExportJobs, db: Database): RoutePlugin {
  return (http) => {
    http.post(
      '/v1/x/exports',
      {
        schema: {
          tags: ['exports'],
          summary: 'Write readings, trips or gaps to a file that is kept for a day',
          headers: IdempotencyKey,
          body: ExportRequest,
          response: responses(ExportState, 'UNKNOWN_VEHICLE', 'INVALID_INTERVAL', 'TOO_MANY'),
        },
      },
      async ({ caller, headers, body: { vehicleId, ...query } }, reply) => {
        const vehicle = vehicleId === undefined ? undefined : await findVehicle(db, caller, vehicleId);
        const { job, isReplayed } = await jobs.create(caller, query, vehicle?.id, headers['idempotency-key']);
        if (isReplayed) markReplayed(reply);
        return job;
      },
    );

    addListRoute(http, jobs);
    http.get(
      path,
      {
        schema: {
          tags: ['exports'],
          summary: 'State of an export',
          params: ExportPath,
          response: responses(ExportState, 'NOT_FOUND'),
        },
      },
      ({ caller, params }) => jobs.find(caller, params.id),
    );

    http.delete(
      path,
      {
        schema: {
          tags: ['exports'],
          summary: 'Delete an export and its file',
          params: ExportPath,
          response: responses(EmptyAnswer, 'NOT_FOUND'),
        },
      },
      async ({ caller, params }) => {
        await jobs.delete(caller, params.id);
        return {};
      },
    );

    addFileRoute(http, jobs);
  };
}

function addListRoute(http: Parameters<RoutePlugin>[0], jobs: ExportJobs): void {
  http.get(
    '/v1/x/exports',
    {
      schema: {
        tags: ['exports'],
        summary: 'List the exports, newest first',
        response: responses(Type.Object({ exports: Type.Array(ExportState) }, { title: 'ExportJobs' })),
      },
    },
    async ({ caller }) => ({ exports: await jobs.list(caller) }),
  );
}

function addFileRoute(http: Parameters<RoutePlugin>[0], jobs: ExportJobs): void {
  const File = Type.String({ description: 'the file, or the part of it that Range names' });
  http.get(
    `${path}/file`,
    {
      config: { isLinked: true },
      schema: {
        tags: ['exports'],
        summary: 'The file of an export that is done; Range and If-Range resume a download',
        params: ExportPath,
        querystring: Type.Object({ appId: Type.Optional(AppId) }),
        produces: exportFileTypes,
        response: { ...responses(File, 'NOT_FOUND', 'NO_DATA'), 206: File },
      },
    },
    async (request, reply) => {
      const { handle, mediaType, fileName } = await jobs.openFile(request.caller, request.params.id);
      reply.type(mediaType).header('content-disposition', `attachment; filename="${fileName}"`);
      return sendStoredFile(request, reply, handle);
    },
  );
}

const File = Type.String({ description: 'the file, in the format of the request' });

const description =
  `Streamed, however long it is: read in parts by time, each in a snapshot of its own. What is stored while it
  runs may be in it or not; nothing is in it twice. An answer that ends early ends without its last chunk, so clients report it.`.replace(
    /\s+/g,
    ' ',
  );

/** Additions to the interface: readings, trips and gaps as files (docs/exports.md). */
export function exportRoutes(answers: Answers, db: Database): RoutePlugin {
  const open = (reader: Reader, one: Export) => answers.open<ExportCursor>(reader, (part) => one.readPart(part));
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
