import { segment } from '../server/admin-api.ts';
import { command, list, optional, required } from './command.ts';

const app = required('appId of the application');
const group = required('id of the group');

/** Commands for vehicle groups. */
export const groupCommands = [
  command({
    name: 'group create',
    summary: 'create a group of vehicles, at the top of the tree or as a subgroup',
    examples: [
      "group create --app app-7f3a --name 'Vans north'",
      'group create --app app-7f3a --name Electric --parent 0197a1de-5f0e-7000-8000-000000000007',
    ],
    options: { app, name: required('name for people'), parent: optional('id of the parent group') },
    run: ({ api }, { app: appId, name, parent }) => api.post('groups', { appId, name, parentId: parent }),
  }),
  command({
    name: 'group list',
    summary: 'list the groups of an application as a tree, with vehicle counts',
    examples: ['group list --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.get('groups', { appId: options.app }),
  }),
  command({
    name: 'group set-vehicles',
    summary: 'replace the vehicles of a group; without --vehicle, the group becomes empty',
    examples: [
      'group set-vehicles --group 0197a1de-5f0e-7000-8000-000000000007 --vehicle 1000000001 --vehicle 1000000002',
    ],
    options: { group, vehicle: list('id of a vehicle') },
    run: ({ api }, options) =>
      api.put(`groups/${segment(options.group)}/vehicles`, { vehicleIds: options.vehicle ?? [] }),
  }),
  command({
    name: 'group delete',
    summary: 'delete a group that has no subgroups and no alarm rules, and end its grants',
    examples: ['group delete --group 0197a1de-5f0e-7000-8000-000000000007'],
    options: { group },
    run: ({ api }, options) => api.delete(`groups/${segment(options.group)}`),
  }),
];
