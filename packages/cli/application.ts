import { segment } from './admin-api.ts';
import type { Command } from './command.ts';

export const applicationCommands: readonly Command[] = [
  {
    name: 'application create',
    summary: 'create an application; its appKey is shown only now',
    required: ['name'],
    run: (api, { text }) => api.post('applications', { name: text.name }),
  },
  {
    name: 'application list',
    summary: 'list the applications',
    run: (api) => api.get('applications'),
  },
  {
    name: 'application set',
    summary: 'set the view (dynamic, fleet, combined), the time zone and the tariff of an application',
    required: ['app'],
    optional: ['view', 'time-zone', 'tariff-per-km', 'tariff-per-minute'],
    run: (api, { text }) =>
      api.put(`applications/${segment(text.app)}`, {
        view: text.view,
        timeZone: text['time-zone'],
        tariffPerKm: text['tariff-per-km'],
        tariffPerMinute: text['tariff-per-minute'],
      }),
  },
];
