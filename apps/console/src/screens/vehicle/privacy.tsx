import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { actingFor } from '../../session.ts';
import { formatFull } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

const shownSeconds = 90 * 86_400;

async function loadIntervals(id: string) {
  const now = Math.floor(Date.now() / 1000);
  const params = { path: { id }, query: { from: now - shownSeconds, until: now + 1 } };
  const { breaks } = await answerOf(api.GET('/v1/x/vehicle/{id}/breaks', { params }));
  return breaks.filter(({ kind }) => kind === 'PRIVACY').reverse();
}

function Switch({ vehicle: { id, appId, plate }, isOn, onChanged }: SwitchOptions) {
  const { privacy: text } = texts.value;
  const options = { params: { header: actingFor(appId) }, body: { vehicleId: id } };
  const turn = async () => {
    const call = isOn ? api.POST('/v1/vehicle/privacy/off', options) : api.POST('/v1/vehicle/privacy/on', options);
    await answerOf(call);
    onChanged();
  };
  return (
    <ActionButton
      action={isOn ? text.turnOff : text.turnOn}
      title={isOn ? text.turnOffTitle(plate) : text.turnOnTitle(plate)}
      onConfirm={turn}
    >
      {isOn ? text.turnOffText : text.turnOnText}
    </ActionButton>
  );
}

interface SwitchOptions {
  readonly vehicle: LiveVehicle;
  readonly isOn: boolean;
  readonly onChanged: () => void;
}

/** The state of location privacy, its intervals, and the switch for those who may use it. */
export function Privacy({ vehicle, mayChange }: { vehicle: LiveVehicle; mayChange: boolean }) {
  const { privacy: text } = texts.value;
  const { data, failure, reload } = useLoad(() => loadIntervals(vehicle.id), [vehicle.id, vehicle.state]);
  const open = data?.find(({ until }) => until === undefined);
  return (
    <div class="stack">
      <h2>{text.title}</h2>
      {failure && <p class="notice wrong">{failure}</p>}
      {data && (
        <>
          <p class={open ? 'notice' : 'muted'}>{open ? text.on(formatFull(open.from)) : text.off}</p>
          <div class="row start">
            {mayChange && <Switch vehicle={vehicle} isOn={open !== undefined} onChanged={reload} />}
          </div>
          {data.length > 0 && (
            <details>
              <summary>{text.intervals}</summary>
              <ul>
                {data.map(({ from, until }) => (
                  <li key={from}>{`${formatFull(from)} – ${until === undefined ? text.now : formatFull(until)}`}</li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
    </div>
  );
}
