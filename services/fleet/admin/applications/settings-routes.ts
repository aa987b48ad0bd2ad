import { invalidParameter } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/applications';
import { appendAudit } from '@odograph/database/audit';
import { operatorOrigin } from '@odograph/database/audit-origin';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { AppId, adminRoute } from '@odograph/http/operator-routes';
import { answers, text } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changeSettings, isTimeZone } from './settings.ts';

const View = Type.Enum(['dynamic', 'fleet', 'combined']);
const Tariff = Type.Number({ minimum: 0, maximum: 1e9 });

/** The operator's route for what is set once for an application. */
export function addApplicationSettingsRoutes(http: Http, db: Kysely<Tables>): void {
  http.put(
    '/v1/x/admin/applications/:appId',
    {
      schema: {
        ...adminRoute,
        summary: 'Set the view, the time zone and the tariff of an application; answers all of them',
        params: Type.Object({ appId: AppId }),
        body: Type.Object({
          view: Type.Optional(View),
          timeZone: Type.Optional(text(1, 64)),
          tariffPerKm: Type.Optional(Tariff),
          tariffPerMinute: Type.Optional(Tariff),
        }),
        response: answers(
          Type.Object({ view: View, timeZone: Type.String(), tariffPerKm: Tariff, tariffPerMinute: Tariff }),
          'UNKNOWN_APPLICATION',
        ),
      },
    },
    async ({ params: { appId }, body: { view, timeZone, tariffPerKm, tariffPerMinute }, ip }) => {
      if (timeZone !== undefined && !isTimeZone(timeZone)) {
        throw invalidParameter('timeZone', 'is no name of the IANA time zone database');
      }
      const change = {
        ...(view !== undefined && { view }),
        ...(timeZone !== undefined && { timeZone }),
        ...(tariffPerKm !== undefined && { tariffPerKm }),
        ...(tariffPerMinute !== undefined && { tariffPerMinute }),
      };
      return db.transaction().execute(async (trx) => {
        const settings = await changeSettings(trx, appId, change);
        await appendAudit(trx, {
          ...operatorOrigin({ ip }, await findApplicationId(trx, appId)),
          action: 'application.settings',
          subject: `application:${appId}`,
          details: change,
          outcome: 'done',
        });
        return settings;
      });
    },
  );
}
