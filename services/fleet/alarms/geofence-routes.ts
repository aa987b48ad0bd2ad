import type { Caller } from '@odograph/contracts/caller';
import { appendAudit, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { requireManager } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { answers, Succeeded } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import * as geofences from './geofence-queries.ts';
import { requireShape } from './rules.ts';
import * as schemas from './schemas.ts';

export const route = { tags: ['alarms'] };
export const Deleted = Type.Object({ deleted: Succeeded }, { title: 'Deleted' });
export const Changed = Type.Object({ id: Type.String() }, { title: 'Changed' });

export interface Alarms {
  readonly db: Kysely<Tables>;
  readonly changes: ChangeAnnouncer;
}

type Request = { caller: Caller; ip: string };

export const record = (db: Database, request: Request, action: string, subject: string) =>
  appendAudit(db, { ...originOf(request), action, subject, outcome: 'done' });

/** Adds the changes of geofences. */
export function geofenceRoutes(http: Http, alarms: Alarms): void {
  addGeofenceCreation(http, alarms);
  addGeofenceChanges(http, alarms);
}

function addGeofenceCreation(http: Http, { db }: Alarms): void {
  http.post(
    '/v1/x/geofences',
    {
      schema: {
        ...route,
        summary: 'Create a geofence: a circle around a Point, or a Polygon',
        body: schemas.NewGeofence,
        response: answers(Changed, 'UNAUTHORIZED', 'TOO_MANY'),
      },
    },
    async (request) => {
      await requireManager(db, request.caller);
      const fields = { name: request.body.name, shape: requireShape(request.body) };
      return db.transaction().execute(async (trx) => {
        const id = await geofences.createGeofence(trx, request.caller.applicationId, fields);
        await record(trx, request, 'geofence.create', `geofence:${id}`);
        return { id };
      });
    },
  );
}

function addGeofenceChanges(http: Http, { db, changes }: Alarms): void {
  http.put(
    '/v1/x/geofences/:id',
    {
      schema: {
        ...route,
        summary: 'Replace a geofence; rules that use it begin again',
        params: schemas.GeofencePath,
        body: schemas.NewGeofence,
        response: answers(Changed, 'UNAUTHORIZED', 'NOT_FOUND'),
      },
    },
    async (request) => {
      const { caller, params, body } = request;
      await requireManager(db, caller);
      const fields = { name: body.name, shape: requireShape(body) };
      const alarmIds = await db.transaction().execute(async (trx) => {
        const ended = await geofences.updateGeofence(trx, caller.applicationId, params.id, fields);
        await record(trx, request, 'geofence.change', `geofence:${params.id}`);
        return ended;
      });
      await changes.announce({ alarmIds });
      return { id: params.id };
    },
  );

  http.delete(
    '/v1/x/geofences/:id',
    {
      schema: {
        ...route,
        summary: 'Delete a geofence that no rule uses',
        params: schemas.GeofencePath,
        response: answers(Deleted, 'UNAUTHORIZED', 'NOT_FOUND', 'IN_USE'),
      },
    },
    async (request) => {
      await requireManager(db, request.caller);
      await db.transaction().execute(async (trx) => {
        await geofences.deleteGeofence(trx, request.caller.applicationId, request.params.id);
        await record(trx, request, 'geofence.delete', `geofence:${request.params.id}`);
      });
      return { deleted: true };
    },
  );
}
