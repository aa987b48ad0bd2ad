import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { actingFor } from '../../session.ts';
import { factsOfValue, formatValue, inOrder, nameOfValue } from '../../texts/fields.ts';
import { formatAgo, formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { LastTrip } from './last-trip.tsx';
import { distinct, groupName, groups, useLastContact, ValueName } from './values.tsx';

type Value = Schema<'LatestValue'>;
type Key = Schema<'FleetVehicleStatus'>['authorizations'][number];

/** Loads the fleet status. @returns undefined for a vehicle without data or without a device @throws CallFailure */
export async function loadStatus({
  id,
  appId,
}: LiveVehicle): Promise<Partial<Schema<'FleetVehicleStatus'>> | undefined> {
  const params = { path: { id }, query: { view: 'fleet' as const }, header: actingFor(appId) };
  try {
    const status = await answerOf(api.GET('/v1/vehicle/{id}/status', { params }));
    return 'authorizations' in status ? status : undefined;
  } catch (error) {
    if (error instanceof CallFailure && error.code === 'COMMUNICATION_FAILED') return undefined;
    throw error;
  }
}

/** Loads the latest values, and the keys that are valid now. @throws CallFailure */
async function load(vehicle: LiveVehicle) {
  const [{ values }, status] = await Promise.all([
    answerOf(api.GET('/v1/x/vehicle/{id}/values', { params: { path: { id: vehicle.id } } })),
    loadStatus(vehicle),
  ]);
  return { values, keys: status?.authorizations ?? [] };
}

/** The values to show first; the others follow in their groups. */
const figures = ['speed', 'soc', 'ChargeLevel', 'fuelRange', 'autonomy', 'RemainingRange', 'mileage', 'lock', 'doors'];
const isFigure = ({ group, name }: Value): boolean => group !== 'can' && group !== 'sensors' && figures.includes(name);

function Age({ time }: { time: string }) {
  return (
    <small class="muted" title={formatFull(time)}>
      {formatAgo(time)}
    </small>
  );
}

function Figures({ values }: { values: readonly Value[] }) {
  const ordered = values.toSorted((one, other) => figures.indexOf(one.name) - figures.indexOf(other.name));
  return (
    <dl class="figures">
      {ordered.map((value) => (
        <div class="card" key={value.name}>
          <dt>{nameOfValue(value)}</dt>
          <dd>{formatValue(value.value, factsOfValue(value), value.unit)}</dd>
          <dd>
            <Age time={value.time} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Group({ title, vehicleId, values }: { title: string; vehicleId: string; values: readonly Value[] }) {
  if (values.length === 0) return null;
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <table>
        <tbody>
          {values.map((value) => (
            <tr key={`${value.group} ${value.name}`}>
              <th scope="row">
                <ValueName vehicleId={vehicleId} value={value} />
              </th>
              <td>{formatValue(value.value, factsOfValue(value), value.unit)}</td>
              <td>
                <Age time={value.time} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Keys({ keys }: { keys: readonly Key[] }) {
  const { vehiclePage: text } = texts.value;
  return (
    <section class="card" aria-label={text.keys}>
      <h2>{text.keys}</h2>
      {keys.length === 0 ? (
        <p class="muted">{text.noKeys}</p>
      ) : (
        <table>
          <tbody>
            {keys.map(({ authorizationId, userId, until }) => (
              <tr key={authorizationId}>
                <th scope="row">{userId}</th>
                <td title={formatFull(until)}>{text.until(formatTime(until))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** The latest values of a vehicle by group, each once and with its age, and its last trip on a map. */
export function Now({ vehicle }: { vehicle: LiveVehicle }) {
  const { vehiclePage: text } = texts.value;
  const { data, failure, reload } = useLoad(() => load(vehicle), [vehicle.id], [useLastContact(vehicle)]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.values.length === 0) return <Empty title={text.noData}>{<p>{text.noDataText}</p>}</Empty>;
  const values = distinct(data.values);
  const others = values.filter((value) => !isFigure(value));
  return (
    <div class="page">
      {failure && <p class="notice late">{failure}</p>}
      <Figures values={values.filter(isFigure)} />
      {vehicle.location && <LastTrip vehicle={vehicle} location={vehicle.location} />}
      <div class="groups">
        {groups.map((group) => (
          <Group
            key={group}
            title={groupName(group)}
            vehicleId={vehicle.id}
            values={inOrder(others.filter((value) => value.group === group))}
          />
        ))}
        <Keys keys={data.keys} />
      </div>
    </div>
  );
}
