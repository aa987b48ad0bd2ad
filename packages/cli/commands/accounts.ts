import { segment } from '../admin-api.ts';
import { command, flag, numeric, optional, required } from '../command.ts';

const app = required('appId of the application');

/** Applications, their settings and users, and the data about a person. */
export const accountCommands = [
  command({
    name: 'application create',
    summary: 'create an application; its appKey is shown only once',
    options: { name: required('name for people') },
    run: ({ api }, { name }) => api.post('applications', { name }),
  }),
  command({
    name: 'application list',
    summary: 'list the applications',
    run: ({ api }) => api.get('applications'),
  }),
  command({
    name: 'application set',
    summary: 'change the settings of an application',
    options: {
      app,
      view: optional('shape of the fleet answers: dynamic, fleet or combined'),
      'time-zone': optional('IANA time zone, such as Europe/Paris'),
      'tariff-per-km': optional('price of a kilometre'),
      'tariff-per-minute': optional('price of a minute'),
      'device-uploads-per-second': optional('rate of each device, from its next connection on; 0 for the setting'),
      'device-bytes-per-second': optional('the same in bytes'),
    },
    run: ({ api }, options) =>
      api.put(`applications/${segment(options.app)}`, {
        view: options.view,
        timeZone: options['time-zone'],
        tariffPerKm: numeric(options['tariff-per-km']),
        tariffPerMinute: numeric(options['tariff-per-minute']),
        deviceUploadsPerSecond: numeric(options['device-uploads-per-second']),
        deviceBytesPerSecond: numeric(options['device-bytes-per-second']),
      }),
  }),
  command({
    name: 'application rotate-key',
    summary: 'replace the appKey of an application; the new one is shown only once',
    options: { app, 'overlap-hours': optional('hours for which the old appKey stays valid; 24 without it') },
    run: ({ api }, options) =>
      api.post(`applications/${segment(options.app)}/key`, { overlapHours: numeric(options['overlap-hours']) }),
  }),
  command({
    name: 'application end-sessions',
    summary: 'end all sessions of an application and its users',
    options: { app },
    run: ({ api }, options) => api.delete(`applications/${segment(options.app)}/sessions`),
  }),
  command({
    name: 'application delete',
    summary: 'delete an application with its users, vehicles and their data; irreversible',
    options: { app },
    run: ({ api }, options) => api.delete(`applications/${segment(options.app)}`),
  }),
  command({
    name: 'user create',
    summary: 'create a user of an application, who sees granted vehicles only',
    options: {
      app,
      username: required('name to sign in with'),
      password: required('password to sign in with'),
      'must-change': flag('the user must change the password at the first login'),
    },
    run: ({ api }, { app: appId, username, password, ...options }) =>
      api.post('users', { appId, username, password, mustChangePassword: options['must-change'] }),
  }),
  command({
    name: 'user list',
    summary: 'list the users of an application with the vehicles granted to them',
    options: { app },
    run: ({ api }, options) => api.get('users', { appId: options.app }),
  }),
  command({
    name: 'user grant',
    summary: 'grant a user access to a vehicle, or change the role',
    options: {
      user: required('id of the user'),
      vehicle: required('id of the vehicle'),
      role: optional('viewer, driver (default) or manager'),
    },
    run: ({ api }, { user, vehicle, role }) =>
      api.post(`users/${segment(user)}/vehicles`, { vehicleId: vehicle, role }),
  }),
  command({
    name: 'user revoke',
    summary: 'revoke the access of a user to a vehicle, with its bookings and authorizations there',
    options: { user: required('id of the user'), vehicle: required('id of the vehicle') },
    run: ({ api }, { user, vehicle }) => api.delete(`users/${segment(user)}/vehicles/${segment(vehicle)}`),
  }),
  command({
    name: 'user reset',
    summary: 'set the password of a user, who must change it at the next login; all sessions of the user end',
    options: { user: required('id of the user'), password: required('new password') },
    run: ({ api }, { user, password }) => api.post(`users/${segment(user)}/password`, { password }),
  }),
  command({
    name: 'user end-sessions',
    summary: 'end all sessions of a user',
    options: { user: required('id of the user') },
    run: ({ api }, { user }) => api.delete(`users/${segment(user)}/sessions`),
  }),
  command({
    name: 'user delete',
    summary: 'delete a user with its sessions, grants, bookings and authorizations',
    options: { user: required('id of the user') },
    run: ({ api }, { user }) => api.delete(`users/${segment(user)}`),
  }),
  command({
    name: 'person export',
    summary: 'print everything stored about a driver or user',
    operand: 'ID',
    options: { app: optional('appId of the application; all without it') },
    run: ({ api, operand }, options) => api.get(`persons/${segment(operand)}`, { appId: options.app }),
  }),
  command({
    name: 'person erase',
    summary: 'replace the id of a driver or user everywhere by a pseudonym; irreversible',
    operand: 'ID',
    options: { app: optional('appId of the application; all without it') },
    run: ({ api, operand }, options) => api.post(`persons/${segment(operand)}/erase`, { appId: options.app }),
  }),
];
