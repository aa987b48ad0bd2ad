import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { texts } from '../../texts/texts.ts';
import { headerFor } from '../layout/application-choice.tsx';
import { SelectField } from './fields.tsx';

interface GroupOptions {
  /** Empty for all applications visible to the user. */
  readonly appId: string;
  /** The id of the chosen group; empty for none. */
  readonly value: string;
  /** The label of the empty option. */
  readonly none: string;
  readonly onChange: (id: string) => void;
}

/** Selects a group from the tree, with vehicle counts; renders nothing while there are no groups. */
export function GroupField({ appId, value, none, onChange }: GroupOptions) {
  const load = () => answerOf(api.GET('/v1/x/groups', { params: { header: headerFor(appId) } }));
  const { data } = useLoad(load, [appId]);
  if (!data || data.groups.length === 0) return null;
  const indent = '\u2003';
  const options = data.groups.map(
    ({ id, name, depth, totalVehicleCount }) => [id, `${indent.repeat(depth)}${name} (${totalVehicleCount})`] as const,
  );
  return (
    <SelectField
      label={texts.value.groups.label}
      value={value}
      options={[['', none], ...options]}
      onChange={onChange}
    />
  );
}
