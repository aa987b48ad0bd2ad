import { writeFile } from 'node:fs/promises';
import { segment } from '../server/admin-api.ts';
import { command, list, numeric, optional, required } from './command.ts';

const app = required('appId of the application');
const kinds = ['trips', 'mileage', 'stops', 'utilization', 'energy', 'alarms', 'silent-devices'];

/** Commands for reports and scheduled reports. */
export const fleetReportCommands = [
  command({
    name: 'report',
    summary: `write a report of an application to a file: ${kinds.join(', ')}`,
    examples: [
      'report trips --app app-7f3a --from 2026-03-01 --until 2026-04-01 --format xlsx --out trips.xlsx',
      'report mileage --app app-7f3a --from 2026-01-01 --until 2027-01-01 --vehicle 1000000001 --format pdf --out log.pdf',
    ],
    operand: 'KIND',
    operandValues: kinds,
    options: {
      app,
      from: required('start, inclusive'),
      until: required('end, exclusive'),
      format: required('format of the file', ['json', 'xlsx', 'pdf']),
      out: required('file to write', 'file'),
      'time-zone': optional('IANA time zone; default: that of the application'),
      language: optional('language of titles and headings', ['en', 'fr']),
      vehicle: list('id of a vehicle'),
      group: optional('id of a group of vehicles'),
    },
    async run({ api, operand }, { app: appId, from, until, format, out, language, vehicle, group, ...zone }) {
      const query = { appId, from, until, format, language, group, timeZone: zone['time-zone'] };
      const content = await api.download(`/v1/x/reports/${segment(operand)}`, {
        ...query,
        vehicleIds: vehicle?.join(','),
      });
      await writeFile(out, content);
      return { file: out, bytes: content.length };
    },
  }),
  command({
    name: 'report-schedule create',
    summary: 'send a report by e-mail each week or month',
    examples: [
      'report-schedule create --app app-7f3a --kind trips --every month --format pdf --email office@example.com',
    ],
    options: {
      app,
      kind: required('kind of report', kinds),
      every: required('week or month', ['week', 'month']),
      format: required('format of the file', ['xlsx', 'pdf']),
      email: list('address of a recipient; may be repeated'),
      'time-zone': optional('IANA time zone; default: that of the application'),
      hour: optional('hour of the day; default: 6'),
      language: optional('language of titles and headings', ['en', 'fr']),
      group: optional('id of a group of vehicles'),
    },
    run: ({ api }, { app: appId, kind, every, format, email, hour, language, group, ...zone }) =>
      api.post('report-schedules', {
        ...{ appId, kind, every, format, recipients: email, hour: numeric(hour), language, group },
        timeZone: zone['time-zone'],
      }),
  }),
  command({
    name: 'report-schedule list',
    summary: 'list the schedules of an application',
    examples: ['report-schedule list --app app-7f3a'],
    options: { app },
    run: ({ api }, { app: appId }) => api.get('report-schedules', { appId }),
  }),
  command({
    name: 'report-schedule sent',
    summary: 'list the reports that a schedule has sent, and the totals that late data has changed since',
    examples: ['report-schedule sent 0197a1de-5f0e-7000-8000-000000000006'],
    operand: 'ID',
    run: ({ api, operand }) => api.get(`report-schedules/${segment(operand)}/reports`),
  }),
  command({
    name: 'report-schedule delete',
    summary: 'delete a schedule and the list of its sent reports',
    examples: ['report-schedule delete 0197a1de-5f0e-7000-8000-000000000006'],
    operand: 'ID',
    run: ({ api, operand }) => api.delete(`report-schedules/${segment(operand)}`),
  }),
];
