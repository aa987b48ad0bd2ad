import { alarmKinds } from '@odograph/contracts/alarms';
import Type from 'typebox';
import { moment, VehicleId, word } from './schemas.ts';

const uuid = (description: string) => Type.String({ description, examples: ['0197a1de-5f0e-7000-8000-000000000005'] });
const degrees = (example: number) => Type.Number({ description: 'decimal degrees', examples: [example] });

/** An alarm of a vehicle (docs/alarms.md). */
export const Alarm = Type.Object(
  {
    id: uuid('alarm identifier'),
    appId: Type.String({ description: 'application', examples: ['app-7f3a'] }),
    vehicleId: VehicleId,
    plate: Type.String({ examples: ['AB-123-CD'] }),
    ruleId: uuid('the rule that raised it'),
    ruleName: Type.String({ examples: ['Leaves the depot'] }),
    kind: word(alarmKinds),
    raisedAt: moment('device time of the reading that raised it'),
    noticedAt: moment('when the platform raised it'),
    late: Type.Boolean({ description: 'noticed more than five minutes after it was raised: the reading arrived late' }),
    clearedAt: Type.Optional(moment('device time of the reading that cleared it; left out while it is open')),
    value: Type.Optional(
      Type.Number({ description: 'km/h, %, V, or minutes of silence, when it was raised', examples: [131.5] }),
    ),
    location: Type.Optional(
      Type.Object(
        {
          ...{ latitude: degrees(48.8566), longitude: degrees(2.3522) },
          address: Type.Optional(Type.String({ description: 'with `address=true`, if known', examples: ['Depot'] })),
        },
        { title: 'AlarmLocation' },
      ),
    ),
    commandId: Type.Optional(uuid('the command that was not answered')),
    acknowledgedAt: Type.Optional(moment('when a person acknowledged it')),
    acknowledgedBy: Type.Optional(
      Type.String({ description: 'application, user:ID or operator:NAME', examples: ['operator:ada'] }),
    ),
    note: Type.Optional(Type.String({ description: 'of the person who acknowledged it' })),
  },
  { title: 'Alarm' },
);
