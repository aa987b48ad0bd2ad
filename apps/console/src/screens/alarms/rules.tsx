import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ConfirmDeletion } from '../../parts/forms/dialog.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { RowActions } from '../../parts/lists/map-list.tsx';
import { address, changeQuery } from '../../router.ts';
import { mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { conditionText, type Geofence, loadGeofences, loadRules, type Rule } from './alarm-text.ts';
import { RuleForm } from './rule-form.tsx';

interface RowOptions {
  readonly rule: Rule;
  readonly geofences: readonly Geofence[];
  readonly onChange: () => void;
  readonly onDelete: () => void;
}

function RuleRow({ rule, geofences, onChange, onDelete }: RowOptions) {
  const { alarms, alarmRules: text, labelled } = texts.value;
  const { name, kind, vehicleIds, groupIds } = rule;
  const ofGroups = groupIds && texts.value.groups.count(groupIds.length);
  return (
    <li class="rule-row">
      <strong>{name}</strong>
      <span>{labelled(alarms.kinds[kind], conditionText(rule, geofences))}</span>
      <span class="muted">
        {[ofGroups, vehicleIds && text.vehicleCount(vehicleIds.length)].filter(Boolean).join(', ') || text.allVehicles}
      </span>
      <RowActions name={name} onChange={onChange} onDelete={onDelete} />
    </li>
  );
}

interface DeleteOptions {
  readonly appId: string;
  readonly deleted: Signal<Rule | undefined>;
  readonly onDone: () => void;
}

function DeleteRule({ appId, deleted, onDone }: DeleteOptions) {
  const { alarmRules: text } = texts.value;
  return (
    <ConfirmDeletion
      deleted={deleted}
      titleOf={({ name }) => text.deleteTitle(name)}
      text={text.deleteText}
      onDelete={async ({ id }) => {
        await answerOf(api.DELETE('/v1/x/alarm-rules/{id}', { params: { path: { id }, header: headerFor(appId) } }));
        onDone();
      }}
    />
  );
}

const NewRule = ({ onClick }: { onClick: () => void }) => (
  <div>
    <Button kind="primary" onClick={onClick}>
      {texts.value.alarmRules.create}
    </Button>
  </div>
);

/** The rules that raise alarms. */
export function Rules({ appId }: { appId: string }) {
  const { alarms, alarmRules: text } = texts.value;
  const { data, failure, reload } = useLoad(
    async () => ({ rules: await loadRules(appId), geofences: await loadGeofences(appId) }),
    [appId],
  );
  const edited = useSignal<{ readonly rule: Rule | undefined } | undefined>(undefined);
  const deleted = useSignal<Rule | undefined>(undefined);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const { rules, geofences } = data;
  const edit = (rule: Rule | undefined) => assign(edited, { rule });
  const close = () => {
    edited.value = undefined;
    changeQuery({ geofence: undefined });
    reload();
  };
  const watched = mayChange() ? geofences.find(({ id }) => id === address.value.query.get('geofence')) : undefined;
  if (edited.value || watched) {
    return (
      <RuleForm
        key={edited.value?.rule?.id}
        appId={appId}
        rule={edited.value?.rule}
        watched={watched}
        geofences={geofences}
        onClose={close}
      />
    );
  }
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      {mayChange() && <NewRule onClick={() => edit(undefined)} />}
      {rules.length === 0 ? (
        <Empty title={text.none}>{<p>{text.noneText}</p>}</Empty>
      ) : (
        <ul class="card" aria-label={alarms.tabs.rules}>
          {rules.map((rule) => (
            <RuleRow
              key={rule.id}
              rule={rule}
              geofences={geofences}
              onChange={() => edit(rule)}
              onDelete={() => assign(deleted, rule)}
            />
          ))}
        </ul>
      )}
      <DeleteRule appId={appId} deleted={deleted} onDone={reload} />
    </>
  );
}
