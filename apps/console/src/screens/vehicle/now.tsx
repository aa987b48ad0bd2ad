import type { ComponentChildren } from 'preact';
import { api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { actingFor } from '../../session.ts';
import {
  formatDistance,
  formatFull,
  formatNumber,
  formatPercent,
  formatSpeed,
  formatTime,
} from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

/** The status is read again at most this often, however fast readings arrive. */
const refreshMs = 5000;

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Loads the latest status in both shapes; a shape that the vehicle does not have is empty. */
async function loadStatus({ id, appId }: LiveVehicle): Promise<{ dynamic: Members; fleet: Members; can: unknown[] }> {
  const params = { path: { id }, header: actingFor(appId) };
  const read = async (view: 'dynamic' | 'fleet'): Promise<Members> => {
    const { data } = await api.GET('/v1/vehicle/{id}/status', { params: { ...params, query: { view } } });
    return isMembers(data) ? data : {};
  };
  const readCan = async () => {
    const { data } = await api.GET('/v1/vehicle/{id}/customcan', { params });
    return data?.can ?? [];
  };
  const [dynamic, fleet, can] = await Promise.all([read('dynamic'), read('fleet'), readCan()]);
  return { dynamic, fleet, can };
}

function Figure({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="card">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const numberAt = (members: unknown, name: string): number | undefined => {
  const value = isMembers(members) ? members[name] : undefined;
  return typeof value === 'number' ? value : undefined;
};
const wordAt = (members: Members, name: string): string => {
  const value = members[name];
  return typeof value === 'string' ? value : '';
};

function Figures({ vehicle, dynamic, fleet }: { vehicle: LiveVehicle; dynamic: Members; fleet: Members }) {
  const { vehicle: text, vehiclePage } = texts.value;
  const mileage = numberAt(dynamic['status'], 'mileage') ?? numberAt(fleet, 'mileage');
  const range = numberAt(fleet, 'RemainingRange') || numberAt(dynamic['status'], 'autonomy');
  const word = (name: string) => vehiclePage.words[wordAt(fleet, name)] ?? wordAt(fleet, name);
  return (
    <dl class="figures">
      {vehicle.state !== 'private' && vehicle.speed !== undefined && (
        <Figure label={text.speed}>{formatSpeed(vehicle.speed)}</Figure>
      )}
      {vehicle.soc !== undefined && <Figure label={text.charge}>{formatPercent(vehicle.soc)}</Figure>}
      {range !== undefined && range > 0 && <Figure label={vehiclePage.range}>{formatDistance(range)}</Figure>}
      {mileage !== undefined && <Figure label={vehiclePage.mileage}>{formatDistance(mileage)}</Figure>}
      {(['engine', 'lock', 'doors', 'windows', 'immobilizer'] as const).map((name) =>
        wordAt(fleet, name) === '' ? null : (
          <Figure key={name} label={vehiclePage.fields[name]}>
            {word(name)}
          </Figure>
        ),
      )}
    </dl>
  );
}

function formatValue(name: string, value: unknown): string {
  if (typeof value === 'number' && /itude$/.test(name)) return formatNumber(value, name === 'altitude' ? 0 : 5);
  if (typeof value === 'number')
    return Number.isInteger(value) ? formatNumber(value) : formatNumber(value, Math.abs(value) < 1000 ? 3 : 1);
  if (typeof value === 'boolean') return value ? texts.value.yes : texts.value.no;
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^\d{4}-\d\d-\d\dT/.test(value) ? formatTime(value) : value;
}

/** The members of a group that have a value; a group within it adds its name. */
function rowsOf(members: Members): [name: string, value: unknown][] {
  return Object.entries(members).flatMap(([name, value]): [string, unknown][] => {
    if (value === '' || value === null) return [];
    if (isMembers(value)) return rowsOf(value).map(([inner, one]) => [`${name} ${inner}`, one]);
    if (Array.isArray(value)) return value.length === 0 ? [] : [[name, `${value.length}`]];
    return [[name, value]];
  });
}

function Group({ title, rows }: { title: string; rows: readonly (readonly [string, unknown])[] }) {
  if (rows.length === 0) return null;
  return (
    <section class="card">
      <h2>{title}</h2>
      <table>
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{formatValue(name, value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function keyedRows(list: unknown): [string, unknown][] {
  if (!Array.isArray(list)) return [];
  return list.filter(isMembers).map(({ key, value }) => [String(key), value]);
}

function Keys({ fleet }: { fleet: Members }) {
  const { vehiclePage: text } = texts.value;
  const list = Array.isArray(fleet['authorizations']) ? fleet['authorizations'].filter(isMembers) : [];
  return (
    <section class="card">
      <h2>{text.keys}</h2>
      {list.length === 0 ? (
        <p class="muted">{text.noKeys}</p>
      ) : (
        <table>
          <tbody>
            {list.map((key) => (
              <tr key={String(key['authorizationId'])}>
                <th scope="row">{String(key['userId'])}</th>
                <td title={formatFull(String(key['until']))}>{text.until(formatTime(String(key['until'])))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** Everything that the platform knows of a vehicle now. */
export function Now({ vehicle }: { vehicle: LiveVehicle }) {
  const { vehiclePage: text } = texts.value;
  const contactMs = vehicle.lastContact === undefined ? 0 : Date.parse(vehicle.lastContact);
  const status = useLoad(() => loadStatus(vehicle), [vehicle.id, Math.floor(contactMs / refreshMs)]);
  if (!status.data) {
    return status.failure ? <LoadFailure message={status.failure} retry={status.reload} /> : <Loading />;
  }
  const { dynamic, fleet, can } = status.data;
  if (Object.keys(dynamic).length === 0 && Object.keys(fleet).length === 0) {
    return <Empty title={text.noData}>{<p>{text.noDataText}</p>}</Empty>;
  }
  const {
    location,
    status: readings,
    electric,
    sensors,
    state,
    vehicle: _vehicle,
    timestamp: _time,
    ...others
  } = dynamic;
  const {
    authorizations: _keys,
    scenarii,
    state: _state,
    position: _position,
    cardholder: _cards,
    ...fleetFields
  } = fleet;
  const rows = (value: unknown) => (isMembers(value) ? rowsOf(value) : []);
  const sensorRows = (Array.isArray(sensors) ? sensors : [])
    .filter(isMembers)
    .flatMap(({ name, data }) =>
      keyedRows(data).map(([key, value]): [string, unknown] => [`${String(name)} ${key}`, value]),
    );
  return (
    <div class="page">
      <Figures vehicle={vehicle} dynamic={dynamic} fleet={fleet} />
      <div class="groups">
        <Keys fleet={fleet} />
        <Group title={text.groups.location} rows={rows(location)} />
        <Group title={text.groups.status} rows={rows(readings)} />
        <Group title={text.groups.electric} rows={rows(electric)} />
        <Group title={text.groups.fleet} rows={rowsOf(fleetFields)} />
        <Group title={text.groups.can} rows={keyedRows(can)} />
        <Group title={text.groups.sensors} rows={sensorRows} />
        <Group title={text.groups.state} rows={rows(state)} />
        <Group title={text.groups.scenarios} rows={rows(scenarii)} />
        {Object.entries(others).map(([name, value]) => (
          <Group key={name} title={name} rows={rows(value)} />
        ))}
      </div>
    </div>
  );
}
