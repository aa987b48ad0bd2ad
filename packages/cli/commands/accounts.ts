import { apiKeyScopes } from '@odograph/contracts/caller';
import { segment, UsageFailure } from '../server/admin-api.ts';
import { command, flag, list, numeric, optional, required } from './command.ts';

const app = required('appId of the application');

const granted = {
  vehicle: optional('id of the vehicle'),
  group: optional('id of the group; the grant also covers its subgroups'),
};

/** @throws UsageFailure unless exactly one of vehicle and group is given */
function requireTarget(
  vehicle: string | undefined,
  group: string | undefined,
): { kind: 'vehicle' | 'group'; id: string } {
  if (vehicle !== undefined && group === undefined) return { kind: 'vehicle', id: vehicle };
  if (group !== undefined && vehicle === undefined) return { kind: 'group', id: group };
  throw new UsageFailure('give either --vehicle or --group');
}

/** Applications, their settings and users, and the data about a person. */
export const accountCommands = [
  command({
    name: 'application create',
    summary: 'create an application; its appKey is shown only once',
    examples: ["application create --name 'Acme car sharing'"],
    options: { name: required('name for people') },
    run: ({ api }, { name }) => api.post('applications', { name }),
  }),
  command({
    name: 'application list',
    summary: 'list the applications',
    examples: ['application list', "application list --json | jq -r '.applications[].appId'"],
    run: ({ api }) => api.get('applications'),
  }),
  command({
    name: 'application set',
    summary: 'change the settings of an application',
    examples: [
      'application set --app app-7f3a --time-zone Europe/Paris --tariff-per-km 0.35',
      'application set --app app-7f3a --device-uploads-per-second 20',
    ],
    options: {
      app,
      view: optional('shape of the fleet answers: dynamic, fleet or combined', ['dynamic', 'fleet', 'combined']),
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
    examples: ['application rotate-key --app app-7f3a --overlap-hours 48'],
    options: { app, 'overlap-hours': optional('hours for which the old appKey stays valid; 24 without it') },
    run: ({ api }, options) =>
      api.post(`applications/${segment(options.app)}/key`, { overlapHours: numeric(options['overlap-hours']) }),
  }),
  command({
    name: 'application end-sessions',
    summary: 'end all sessions of an application and its users',
    examples: ['application end-sessions --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.delete(`applications/${segment(options.app)}/sessions`),
  }),
  command({
    name: 'application delete',
    summary: 'delete an application with its users, vehicles and their data; irreversible',
    examples: ['application delete --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.delete(`applications/${segment(options.app)}`),
  }),
  command({
    name: 'api-key create',
    summary: 'create an API key of an application; it is shown only once',
    examples: [
      'api-key create --app app-7f3a --name export --scope read',
      'api-key create --app app-7f3a --name depot --scope read,commands --expires 2027-01-01 --network 192.0.2.0/24',
    ],
    options: {
      app,
      name: required('name of the key in the audit'),
      scope: required(`scopes, separated by commas: ${apiKeyScopes.join(', ')}`),
      expires: optional('expiry, such as 2027-01-01 (00:00 UTC) or 2027-01-01T00:00+01:00; default: never'),
      network: list('network that the key is accepted from; may be repeated'),
    },
    run: ({ api }, { app: appId, name, scope, expires: expiresAt, network: networks }) =>
      api.post('api-keys', { appId, name, scopes: scope.split(','), expiresAt, networks }),
  }),
  command({
    name: 'api-key list',
    summary: 'list the API keys of an application, with the time of their last use to the minute',
    examples: ['api-key list --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.get('api-keys', { appId: options.app }),
  }),
  command({
    name: 'api-key delete',
    summary: 'delete an API key; it stops working at once',
    examples: ['api-key delete --id 0197a1de-5f0e-7000-8000-000000000008'],
    options: { id: required('id of the API key') },
    run: ({ api }, { id }) => api.delete(`api-keys/${segment(id)}`),
  }),
  command({
    name: 'user create',
    summary: 'create a user of an application, who sees granted vehicles only',
    examples: ["user create --app app-7f3a --username alex --password 'correct horse battery' --must-change"],
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
    examples: ['user list --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.get('users', { appId: options.app }),
  }),
  command({
    name: 'user grant',
    summary: 'grant a user access to a vehicle or a group of vehicles, or change the role',
    examples: [
      'user grant --user 0197a1de-5f0e-7000-8000-000000000001 --vehicle 1000000001 --role manager',
      'user grant --user 0197a1de-5f0e-7000-8000-000000000001 --group 0197a1de-5f0e-7000-8000-000000000007 --role viewer',
    ],
    options: {
      user: required('id of the user'),
      ...granted,
      role: optional('viewer, driver (default) or manager', ['viewer', 'driver', 'manager']),
    },
    async run({ api }, { user, vehicle, group, role }) {
      const { kind, id } = requireTarget(vehicle, group);
      return api.post(`users/${segment(user)}/${kind}s`, { [`${kind}Id`]: id, role });
    },
  }),
  command({
    name: 'user revoke',
    summary: 'revoke a grant on a vehicle or a group, and end the bookings and authorizations that depend on it',
    examples: ['user revoke --user 0197a1de-5f0e-7000-8000-000000000001 --vehicle 1000000001'],
    options: { user: required('id of the user'), ...granted },
    async run({ api }, { user, vehicle, group }) {
      const { kind, id } = requireTarget(vehicle, group);
      return api.delete(`users/${segment(user)}/${kind}s/${segment(id)}`);
    },
  }),
  command({
    name: 'user reset',
    summary: 'set the password of a user, who must change it at the next login; all sessions of the user end',
    examples: ["user reset --user 0197a1de-5f0e-7000-8000-000000000001 --password 'a new passphrase'"],
    options: { user: required('id of the user'), password: required('new password') },
    run: ({ api }, { user, password }) => api.post(`users/${segment(user)}/password`, { password }),
  }),
  command({
    name: 'user reset-second-factor',
    summary: 'remove the lost second factor of a user, and end all sessions of the user',
    examples: ['user reset-second-factor --user 0197a1de-5f0e-7000-8000-000000000001'],
    options: { user: required('id of the user') },
    run: ({ api }, { user }) => api.delete(`users/${segment(user)}/second-factor`),
  }),
  command({
    name: 'user end-sessions',
    summary: 'end all sessions of a user',
    examples: ['user end-sessions --user 0197a1de-5f0e-7000-8000-000000000001'],
    options: { user: required('id of the user') },
    run: ({ api }, { user }) => api.delete(`users/${segment(user)}/sessions`),
  }),
  command({
    name: 'user delete',
    summary: 'delete a user with its sessions, grants, bookings and authorizations',
    examples: ['user delete --user 0197a1de-5f0e-7000-8000-000000000001'],
    options: { user: required('id of the user') },
    run: ({ api }, { user }) => api.delete(`users/${segment(user)}`),
  }),
  command({
    name: 'person export',
    summary: 'print everything stored about a driver or user',
    examples: ['person export driver-42 > driver-42.json', 'person export alex --app app-7f3a'],
    operand: 'ID',
    options: { app: optional('appId of the application; all without it') },
    run: ({ api, operand }, options) => api.get(`persons/${segment(operand)}`, { appId: options.app }),
  }),
  command({
    name: 'person erase',
    summary: 'replace the id of a driver or user everywhere by a pseudonym; irreversible',
    examples: ['person erase driver-42 --app app-7f3a'],
    operand: 'ID',
    options: { app: optional('appId of the application; all without it') },
    run: ({ api, operand }, options) => api.post(`persons/${segment(operand)}/erase`, { appId: options.app }),
  }),
];

const operatorName = required('name of the operator');
const roles = 'viewer, operator or administrator';
const roleNames = ['viewer', 'operator', 'administrator'];

/** Accounts of operators. */
export const operatorCommands = [
  command({
    name: 'operator create',
    summary: 'create an operator, who signs in with a browser; the password is shown only once',
    examples: [
      'operator create --name alex --role administrator',
      'operator create --name kim --role viewer --app app-7f3a --must-change',
    ],
    options: {
      name: required('name to sign in with'),
      role: required(roles, roleNames),
      app: list('appId of an application that the operator is limited to; all without it'),
      'must-change': flag('the operator must change the password after the first sign-in'),
    },
    run: ({ api }, { name, role, app, ...options }) =>
      api.post('operators', { name, role, appIds: app ?? [], mustChangePassword: options['must-change'] }),
  }),
  command({
    name: 'operator list',
    summary: 'list the operators with their roles and applications',
    examples: ['operator list'],
    run: ({ api }) => api.get('operators'),
  }),
  command({
    name: 'operator set',
    summary: 'change the role of an operator, or the applications; sessions have the new ones at once',
    examples: ['operator set --name kim --role operator', 'operator set --name kim --all-apps'],
    options: {
      name: operatorName,
      role: optional(roles, roleNames),
      app: list('appId of an application that the operator is limited to from now on'),
      'all-apps': flag('the operator is limited to no application from now on'),
    },
    async run({ api }, { name, role, app, ...options }) {
      if (app !== undefined && options['all-apps']) throw new UsageFailure('give either --app or --all-apps');
      const appIds = options['all-apps'] ? [] : app;
      if (role === undefined && appIds === undefined) throw new UsageFailure('give --role, --app or --all-apps');
      return api.put(`operators/${segment(name)}`, { role, appIds });
    },
  }),
  command({
    name: 'operator reset',
    summary: 'replace the password of an operator, shown only once; all sessions of the operator end',
    examples: ['operator reset --name kim'],
    options: { name: operatorName },
    run: ({ api }, options) => api.post(`operators/${segment(options.name)}/password`, {}),
  }),
  command({
    name: 'operator reset-second-factor',
    summary: 'remove the lost second factor of an operator, and end all sessions of the operator',
    examples: ['operator reset-second-factor --name kim'],
    options: { name: operatorName },
    run: ({ api }, options) => api.delete(`operators/${segment(options.name)}/second-factor`),
  }),
  command({
    name: 'operator end-sessions',
    summary: 'end all sessions of an operator',
    examples: ['operator end-sessions --name kim'],
    options: { name: operatorName },
    run: ({ api }, options) => api.delete(`operators/${segment(options.name)}/sessions`),
  }),
  command({
    name: 'operator delete',
    summary: 'delete an operator; all sessions of the operator end',
    examples: ['operator delete --name kim'],
    options: { name: operatorName },
    run: ({ api }, options) => api.delete(`operators/${segment(options.name)}`),
  }),
];
