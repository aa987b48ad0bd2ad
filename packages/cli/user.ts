import { segment } from './admin-api.ts';
import type { Command } from './command.ts';

export const userCommands: readonly Command[] = [
  {
    name: 'user create',
    summary: 'create a user of an application, who sees only granted vehicles',
    required: ['app', 'username', 'password'],
    flags: ['must-change'],
    run: (api, { text, flags }) =>
      api.post('users', {
        appId: text.app,
        username: text.username,
        password: text.password,
        mustChangePassword: flags.has('must-change'),
      }),
  },
  {
    name: 'user list',
    summary: 'list the users of an application with the vehicles they are granted',
    required: ['app'],
    run: (api, { text }) => api.get('users', { appId: text.app }),
  },
  {
    name: 'user grant',
    summary: 'grant a user access to a vehicle as viewer, driver (default) or manager, or change the role',
    required: ['user', 'vehicle'],
    optional: ['role'],
    run: (api, { text: { user, vehicle, role } }) =>
      api.post(`users/${segment(user)}/vehicles`, { vehicleId: vehicle, role }),
  },
  {
    name: 'user revoke',
    summary: 'revoke the access of a user to a vehicle, with its bookings and authorizations there',
    required: ['user', 'vehicle'],
    run: (api, { text }) => api.delete(`users/${segment(text.user)}/vehicles/${segment(text.vehicle)}`),
  },
];
