import { useSignal } from '@preact/signals';
import { answerOf, api, onlyJson, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { describe, loadVehicle, VehicleForm } from '../../parts/forms/vehicle-form.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { StateMark } from '../../parts/layout/vehicle-state.tsx';
import { navigate } from '../../router.ts';
import { actingFor, hasRole, isOperator, session } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';

/** The members that vehicles of the live stream and of the table share. */
type KnownVehicle = Pick<Schema<'TableVehicle'>, 'id' | 'appId' | 'plate' | 'deviceId'>;

/** Whether the person may archive and delete a vehicle: an operator who is no viewer, or a user who manages it. */
async function loadMayManage(id: string): Promise<boolean> {
  if (isOperator()) return hasRole('operator');
  const person = session.value.state === 'signed in' ? session.value.person : undefined;
  if (person?.kind !== 'user') return false;
  const { grants } = await answerOf(api.GET('/v1/x/vehicle/{id}/access', { params: { path: { id } } }));
  return grants.some(({ userId, role }) => userId === person.userId && role === 'manager');
}

function Description({ id }: { id: string }) {
  const { change, vehicleForm: text } = texts.value;
  const { data: vehicle, failure, reload } = useLoad(() => loadVehicle(id), [id]);
  const isChanging = useSignal(false);
  if (!vehicle) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const close = () => {
    isChanging.value = false;
    reload();
  };
  if (isChanging.value) return <VehicleForm vehicle={vehicle} onDone={close} onClose={close} />;
  return (
    <section class="card details-card" aria-label={text.title}>
      <h2>{text.title}</h2>
      <dl class="facts">
        {Object.entries(describe(vehicle)).map(([name, value]) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name} value`} class={value === '' ? 'muted' : ''}>
            {value || text.unknown}
          </dd>,
        ])}
      </dl>
      {hasRole('operator') && !vehicle.archived && (
        <div class="row start">
          <Button onClick={() => assign(isChanging, true)}>{change}</Button>
        </div>
      )}
    </section>
  );
}

interface DetailsOptions {
  readonly vehicle: KnownVehicle;
  readonly isArchived?: boolean;
}

function Device({ vehicle: { id, deviceId }, isArchived }: DetailsOptions) {
  const { details: text } = texts.value;
  return (
    <section class="card details-card" aria-label={text.device}>
      <h2>{text.device}</h2>
      {deviceId === '' ? (
        <p class="muted">{text.noDevice}</p>
      ) : (
        <a href={`/devices/${encodeURIComponent(deviceId)}`}>{deviceId}</a>
      )}
      {deviceId === '' && !isArchived && hasRole('operator') && (
        <div class="row start">
          <a class="button" href={`/vehicles?add=one&vehicle=${id}`}>
            {text.addDevice}
          </a>
        </div>
      )}
    </section>
  );
}

/** Archives, reactivates or deletes a vehicle. The page follows the live stream. */
function ArchiveOrDelete({ vehicle: { id, appId, plate }, isArchived }: DetailsOptions) {
  const { details: text } = texts.value;
  const action = useAction();
  const params = { header: actingFor(appId) };
  const archive = (archived: boolean) => answerOf(api.PUT('/v1/vehicle', { params, body: { id, archived } }));
  const remove = async () => {
    await answerOf(api.DELETE('/v1/vehicle', { params, body: { id } }));
    navigate('/vehicles');
  };
  return (
    <section class="card details-card" aria-label={text.ending}>
      <h2>{text.ending}</h2>
      {action.failure && (
        <p class="notice wrong" role="alert">
          {action.failure}
        </p>
      )}
      <div class="row start">
        {isArchived ? (
          <Button disabled={action.isRunning} onClick={() => void action.run(() => archive(false))}>
            {text.reactivate}
          </Button>
        ) : (
          <ActionButton action={text.archive} title={text.archiveTitle(plate)} onConfirm={() => archive(true)}>
            {text.archiveText}
          </ActionButton>
        )}
        <ActionButton action={text.delete} title={text.deleteTitle(plate)} isDangerous typed={plate} onConfirm={remove}>
          {text.deleteText}
        </ActionButton>
      </div>
    </section>
  );
}

/** The description of a vehicle, its device, archiving and deletion. */
export function Details({ vehicle, isArchived = false }: DetailsOptions) {
  const { id } = vehicle;
  const { data: mayManage } = useLoad(() => loadMayManage(id), [id]);
  return (
    <div class="details">
      {isOperator() && <Description key={String(isArchived)} id={id} />}
      <div>
        <Device vehicle={vehicle} isArchived={isArchived} />
        {mayManage && <ArchiveOrDelete vehicle={vehicle} isArchived={isArchived} />}
        {mayManage === false && <p class="muted">{texts.value.readOnly}</p>}
      </div>
    </div>
  );
}

async function findArchived(id: string) {
  const query = { q: id, state: 'archived', limit: 20 };
  const { vehicles } = onlyJson(await answerOf(api.GET('/v1/x/vehicles', { params: { query } })));
  return vehicles.find((vehicle) => vehicle.id === id) ?? null;
}

/** A vehicle that is not in the live stream: archived, or not visible to the person. */
export function ArchivedVehicle({ id }: { id: string }) {
  const { vehiclePage, details: text, states } = texts.value;
  const { data: vehicle, failure, reload } = useLoad(() => findArchived(id), [id]);
  if (vehicle === undefined) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (vehicle === null) return <Empty title={vehiclePage.unknown}>{<p>{vehiclePage.unknownText}</p>}</Empty>;
  return (
    <div class="page">
      <header class="vehicle-title">
        <Heading text={vehicle.plate} />
        <span class="state-chip state-archived">
          <StateMark state="archived" />
          {states.archived}
        </span>
      </header>
      <p class="notice">{text.archived}</p>
      <Details vehicle={vehicle} isArchived />
    </div>
  );
}
