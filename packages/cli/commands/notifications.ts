import { segment } from '../server/admin-api.ts';
import { command, numeric, optional, required } from './command.ts';

const app = required('appId of the application');
const id = required('id of the notification');

/** Commands for notifications (docs/notifications.md). */
export const notificationCommands = [
  command({
    name: 'notification create',
    summary: 'send e-mail about events from now on; the HTTP interface offers the other channels',
    examples: [
      'notification create --app app-7f3a --events alarm.raised,device.silent --email ann@example.com',
      "notification create --app app-7f3a --events 'booking.*' --email ann@example.com --language fr --max-per-hour 5",
    ],
    options: {
      app,
      events: required('event types, separated by commas; alarm.* matches all types with this prefix'),
      email: required('e-mail address'),
      name: optional('name for people'),
      language: optional('language of the messages; default: en'),
      'max-per-hour': optional('messages in 60 minutes; default: 20. Further events are sent in one digest'),
    },
    run: ({ api }, { app: appId, events, email, name, language, ...options }) =>
      api.post('notifications', {
        ...{ appId, email, name, language, events: events.split(',') },
        maxPerHour: numeric(options['max-per-hour']),
      }),
  }),
  command({
    name: 'notification list',
    summary: 'list the notifications of an application, with their states',
    examples: ['notification list --app app-7f3a'],
    options: { app },
    run: ({ api }, { app: appId }) => api.get('notifications', { appId }),
  }),
  command({
    name: 'notification test',
    summary: 'send a test message and print the outcome',
    examples: ['notification test --id 9b2c9f7e-1a34-4d0f-8a45-1f6f2c1f4f10'],
    options: { id },
    run: ({ api }, options) => api.post(`notifications/${segment(options.id)}/test`, {}),
  }),
  command({
    name: 'notification delete',
    summary: 'delete a notification',
    examples: ['notification delete --id 9b2c9f7e-1a34-4d0f-8a45-1f6f2c1f4f10'],
    options: { id },
    run: ({ api }, options) => api.delete(`notifications/${segment(options.id)}`),
  }),
];
