import { AppId, moment, text, word } from '@odograph/http/schemas';
import { type ReportKind, reportKinds } from '@odograph/reports/columns';
import { reportLanguages } from '@odograph/reports/texts';
import Type, { type Static } from 'typebox';

const id = (description: string) =>
  Type.String({ maxLength: 64, description, examples: ['0197a1de-5f0e-7000-8000-000000000006'] });
const delivery = {
  format: word(['xlsx', 'pdf']),
  every: word(['week', 'month'], {
    description: 'covers the previous week or month; due on the first day of the next',
  }),
  hour: Type.Integer({ minimum: 0, maximum: 23, default: 6, description: 'hour of the day in the time zone' }),
  language: Type.String({
    maxLength: 16,
    default: 'en',
    description: `one of ${reportLanguages.join(', ')}`,
    examples: ['fr'],
  }),
  recipients: Type.Array(
    Type.String({
      maxLength: 254,
      pattern: '^[^\\s@<>(),;:"\\\\\\u0000]+@[A-Za-z0-9.-]+$',
      examples: ['office@example.com'],
    }),
    { minItems: 1, maxItems: 20, uniqueItems: true, description: 'e-mail addresses; each gets a separate message' },
  ),
};
const scheduleFields = {
  kind: word(Object.keys(reportKinds) as ReportKind[]),
  ...delivery,
  group: Type.Optional(id('group whose vehicles, including those of subgroups, are reported; all vehicles by default')),
};
const timeZone = (description: string) => Type.String({ maxLength: 64, description, examples: ['Europe/Paris'] });

const ownZone = Type.Optional(timeZone('IANA time zone; by default that of the application'));
/** The settings that may change; kind and group are fixed, because sent reports are compared with them. */
export const ChangedSchedule = Type.Object({ ...delivery, timeZone: ownZone });
export type ChangedSchedule = Static<typeof ChangedSchedule>;
export const NewSchedule = Type.Object({ ...scheduleFields, timeZone: ownZone });
export type NewSchedule = Static<typeof NewSchedule>;
export const NewScheduleOf = Type.Object({ ...NewSchedule.properties, appId: AppId });

export const Schedule = Type.Object(
  {
    ...{
      id: id('schedule'),
      ...scheduleFields,
      timeZone: timeZone('IANA time zone'),
      createdAt: moment('time of creation'),
    },
    nextDueAt: moment('when the next report is sent'),
  },
  { title: 'ReportSchedule' },
);
export type Schedule = Static<typeof Schedule>;
export const SchedulePath = Type.Object({ id: id('schedule') });

export const SentReport = Type.Object(
  {
    dueAt: moment('when it was due'),
    from: moment('start of the report, inclusive'),
    until: moment('end of the report, exclusive'),
    state: word(['due', 'sent', 'failed'], { description: 'failed: not accepted in 30 attempts, about a day' }),
    attempts: Type.Integer({ examples: [1] }),
    accepted: Type.Array(text(1, 254), { description: 'recipients whose message the mail server accepted' }),
    sentAt: Type.Optional(moment('when the first message was accepted')),
    lastError: Type.Optional(Type.String({ examples: ['the mail server answered 451'] })),
    outdatedAt: Type.Optional(moment('when a change from late data was detected')),
    changes: Type.Array(
      Type.Object({
        vehicleId: Type.String({ examples: ['1000000001'] }),
        plate: Type.String({ examples: ['AB-123-CD'] }),
        column: Type.String({ description: 'column of the totals of the vehicle', examples: ['distanceKm'] }),
        sent: Type.Number({ examples: [120.5] }),
        now: Type.Number({ examples: [131.2] }),
      }),
    ),
  },
  { title: 'SentReport' },
);
export type SentReport = Static<typeof SentReport>;
export const maxListedReports = 100;
