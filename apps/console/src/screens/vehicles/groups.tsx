import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api, type CallFailure, type Schema } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ConfirmDeletion } from '../../parts/forms/dialog.tsx';
import { errorBeyond, errorOf, Form, SelectField, TextInput } from '../../parts/forms/fields.tsx';
import { FormEnd, useSave } from '../../parts/forms/use-save.tsx';
import { type NamedVehicle, useVehicleDraft, VehicleChoice } from '../../parts/forms/vehicle-picker.tsx';
import { ApplicationChoice, chosenApplication, headerFor } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { RowActions } from '../../parts/lists/map-list.tsx';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';

type Group = Schema<'Group'>;
type GroupWithVehicles = Schema<'GroupWithVehicles'>;

/** The values of the form. */
interface Draft {
  readonly name: string;
  /** Empty at the top level. */
  readonly parentId: string;
  readonly vehicles: readonly NamedVehicle[];
}

const paramsOf = (appId: string, id: string) => ({ path: { id }, header: headerFor(appId) });
const findGroup = (appId: string, id: string) =>
  answerOf(api.GET('/v1/x/groups/{id}', { params: paramsOf(appId, id) }));

const draftOf = (group: GroupWithVehicles | undefined): Draft => ({
  name: group?.name ?? '',
  parentId: group?.parentId ?? '',
  vehicles: (group?.vehicleIds ?? []).map((id) => ({ id, plate: id })),
});

/** Lists the possible parents of a group: all but itself and its descendants, which follow it in the list. */
function parentsOf(groups: readonly Group[], id: string | undefined): readonly Group[] {
  const start = groups.findIndex((one) => one.id === id);
  if (start < 0) return groups;
  const depth = groups[start]?.depth ?? 0;
  const end = groups.findIndex((one, index) => index > start && one.depth <= depth);
  return [...groups.slice(0, start), ...(end < 0 ? [] : groups.slice(end))];
}

interface GroupFormOptions {
  readonly appId: string;
  readonly groups: readonly Group[];
  /** Undefined for a new group. */
  readonly group: GroupWithVehicles | undefined;
  readonly onClose: () => void;
}

interface FieldsOptions extends Omit<GroupFormOptions, 'onClose'> {
  readonly draft: Signal<Draft>;
  readonly failure: CallFailure | undefined;
}

/** The fields of a group. */
function GroupFields({ appId, groups, group, draft, failure }: FieldsOptions) {
  const { groups: text } = texts.value;
  const change = (changed: Partial<Draft>) => assign(draft, { ...draft.value, ...changed });
  const parents = parentsOf(groups, group?.id).map(
    ({ id, name, depth }) => [id, `${'\u2003'.repeat(depth)}${name}`] as const,
  );
  return (
    <>
      <TextInput
        label={text.name}
        value={draft.value.name}
        error={errorOf(failure, 'name')}
        maxLength={limits['/v1/x/groups'].name.maxLength}
        onValue={(name) => change({ name })}
      />
      <SelectField
        label={text.parent}
        value={draft.value.parentId}
        options={[['', text.top], ...parents]}
        onChange={(parentId) => change({ parentId })}
      />
      <VehicleChoice
        label={text.vehicles}
        appId={appId}
        chosen={draft.value.vehicles}
        error={errorOf(failure, 'vehicleIds')}
        onChange={(vehicles) => change({ vehicles })}
      />
    </>
  );
}

/** Creates or changes a group, with its vehicles. */
function GroupForm({ appId, groups, group, onClose }: GroupFormOptions) {
  const { groups: text } = texts.value;
  const { draft, show } = useVehicleDraft(appId, draftOf(group));
  const saving = useSave(group, ({ name, parentId, vehicleIds }) => JSON.stringify([name, parentId, vehicleIds]));
  // If a later step fails after the creation, a retry updates the group.
  const created = useSignal(group?.id);
  const save = async () => {
    const { name, parentId, vehicles } = draft.value;
    const header = headerFor(appId);
    if (created.value === undefined) {
      const body = { name: name.trim(), ...(parentId !== '' && { parentId }) };
      created.value = (await answerOf(api.POST('/v1/x/groups', { params: { header }, body }))).id;
    } else {
      const body = { name: name.trim(), parentId };
      await answerOf(api.PUT('/v1/x/groups/{id}', { params: paramsOf(appId, created.value), body }));
    }
    const body = { vehicleIds: vehicles.map(({ id }) => id) };
    await answerOf(api.PUT('/v1/x/groups/{id}/vehicles', { params: paramsOf(appId, created.value), body }));
  };
  const submit = () =>
    group ? saving.runUnlessChanged(() => findGroup(appId, group.id), save, onClose) : saving.run(save, onClose);
  const describe = ({ name, parentId, vehicleIds }: GroupWithVehicles) => ({
    [text.name]: name,
    [text.parent]: groups.find(({ id }) => id === parentId)?.name ?? text.top,
    [text.vehicles]: vehicleIds.join(', '),
  });
  const title = group ? text.change(group.name) : text.create;
  return (
    <Form class="card form" aria-label={title} onSubmit={submit}>
      <h2>{title}</h2>
      <GroupFields appId={appId} groups={groups} group={group} draft={draft} failure={saving.failure} />
      <FormEnd
        saving={saving}
        describe={describe}
        failure={errorBeyond(saving.failure, ['name', 'vehicleIds'])}
        onTheirs={(theirs) => show(draftOf(theirs))}
        onClose={onClose}
      />
    </Form>
  );
}

/** Shows the tree of groups of an application, and the form of one group. */
function GroupTree({ appId }: { appId: string }) {
  const { groups: text, vehicles } = texts.value;
  const load = () => answerOf(api.GET('/v1/x/groups', { params: { header: headerFor(appId) } }));
  const { data, failure, reload } = useLoad(load, []);
  const opening = useAction();
  const edited = useSignal<{ readonly group: GroupWithVehicles | undefined } | undefined>(undefined);
  const deleted = useSignal<Group | undefined>(undefined);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const edit = ({ id }: Group) => void opening.run(async () => assign(edited, { group: await findGroup(appId, id) }));
  const close = () => {
    assign(edited, undefined);
    reload();
  };
  if (edited.value) {
    return <GroupForm appId={appId} groups={data.groups} group={edited.value.group} onClose={close} />;
  }
  return (
    <>
      <div>
        <Button kind="primary" onClick={() => assign(edited, { group: undefined })}>
          {text.create}
        </Button>
      </div>
      <div role="alert">{opening.failure && <p class="notice wrong">{opening.failure}</p>}</div>
      {data.groups.length === 0 ? (
        <Empty title={text.noneYet}>{<p>{text.noneText}</p>}</Empty>
      ) : (
        <ul class="card" aria-label={text.title}>
          {data.groups.map((group) => (
            <li key={group.id} class="group-row" style={{ '--depth': group.depth }}>
              <a href={`/vehicles?group=${group.id}`}>{group.name}</a>
              <span class="muted">{vehicles.count(group.totalVehicleCount)}</span>
              <RowActions name={group.name} onChange={() => edit(group)} onDelete={() => assign(deleted, group)} />
            </li>
          ))}
        </ul>
      )}
      <ConfirmDeletion
        deleted={deleted}
        titleOf={({ name }) => text.deleteTitle(name)}
        text={text.deleteText}
        onDelete={async ({ id }) => {
          await answerOf(api.DELETE('/v1/x/groups/{id}', { params: paramsOf(appId, id) }));
          reload();
        }}
      />
    </>
  );
}

/** Manages the groups of an application, for administrators. */
export function GroupsPage() {
  const { groups: text, guide, application } = texts.value;
  const appId = chosenApplication(false)?.appId;
  return (
    <div class="page form-page">
      <header class="page-bar">
        <a href="/vehicles">{guide.back}</a>
        <Heading text={text.title} />
        <ApplicationChoice />
      </header>
      {appId === undefined ? <Empty title={application.none} /> : <GroupTree key={appId} appId={appId} />}
    </div>
  );
}
