import { AppId, text, VehicleId } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

export const GroupId = Type.String({
  maxLength: 256,
  description: 'group identifier',
  examples: ['0197a1de-5f0e-7000-8000-000000000007'],
});
export const GroupPath = Type.Object({ id: GroupId });
export const GroupCreated = Type.Object({ id: GroupId }, { title: 'GroupCreated' });

const name = text(1, 256, { description: 'name', examples: ['Vans north'] });
export const newGroupFields = {
  name,
  parentId: Type.Optional({ ...GroupId, description: 'parent group; left out at the top of the tree' }),
};
export const NewGroup = Type.Object(newGroupFields);
export type NewGroup = Static<typeof NewGroup>;
export const GroupChange = Type.Object({
  name: Type.Optional(name),
  parentId: Type.Optional({
    ...GroupId,
    description: 'new parent group; the subgroups move along; empty: the top of the tree',
  }),
});
export type GroupChange = Static<typeof GroupChange>;

/** Maximum direct members of a group; those of subgroups do not count. */
const maxVehicles = 10_000;
export const GroupVehicles = Type.Object({
  vehicleIds: Type.Array(VehicleId, {
    maxItems: maxVehicles,
    description: 'all vehicles of the group itself; others are removed from it',
  }),
});

const groupFields = {
  id: GroupId,
  appId: AppId,
  name: Type.String(),
  parentId: Type.Optional({ ...GroupId, description: 'parent group; left out at the top of the tree' }),
  depth: Type.Integer({ minimum: 0, description: 'number of groups above it' }),
  vehicleCount: Type.Integer({ minimum: 0, description: 'vehicles of the group itself' }),
  totalVehicleCount: Type.Integer({
    minimum: 0,
    description: 'distinct vehicles of the group and its subgroups',
  }),
};
export const Group = Type.Object(groupFields, { title: 'Group' });
export type Group = Static<typeof Group>;
export const GroupList = Type.Object({
  groups: Type.Array(Group, { description: 'in tree order: each group is followed by its subgroups' }),
});
export const GroupWithVehicles = Type.Object(
  { ...groupFields, vehicleIds: Type.Array(VehicleId, { description: 'vehicles of the group itself' }) },
  { title: 'GroupWithVehicles' },
);
export type GroupWithVehicles = Static<typeof GroupWithVehicles>;
