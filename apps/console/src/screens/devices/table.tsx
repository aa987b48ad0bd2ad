import { usePages } from '../../api/use-pages.ts';
import { SearchBox } from '../../parts/forms/search-box.tsx';
import { Heading } from '../../parts/layout/placeholders.tsx';
import { type Column, DataTable } from '../../parts/lists/data-table.tsx';
import { address, navigate } from '../../router.ts';
import { hasRole } from '../../session.ts';
import { formatAgo, formatDay, formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import {
  type DeviceFilter,
  type DeviceRequest,
  filterNames,
  filters,
  isSortColumn,
  loadPage,
  type TableDevice,
} from './device-data.ts';

/** Whether a device is connected, or since when it is not; one behind another system never is. */
export function Connection({ device }: { device: Pick<TableDevice, 'connected' | 'disconnectedSince' | 'protocol'> }) {
  const { devices: text } = texts.value;
  const { connected, disconnectedSince, protocol } = device;
  if (protocol === 'source' && !connected && !disconnectedSince) {
    return <span class="muted">{text.throughSource}</span>;
  }
  const state = connected ? 'connected' : 'disconnected';
  return (
    <span class={`device-connection ${state}`} title={disconnectedSince && formatFull(disconnectedSince)}>
      <span class="dot" aria-hidden="true" />
      {connected && text.connected}
      {!connected && (disconnectedSince ? text.disconnected(formatTime(disconnectedSince)) : text.neverConnected)}
    </span>
  );
}

function readRequest(): DeviceRequest {
  const { query } = address.value;
  const chosen = (query.get('show') ?? '').split(',');
  const sort = query.get('sort') ?? '';
  return {
    search: query.get('q') ?? '',
    filters: filterNames.filter((name) => chosen.includes(name)),
    sort: isSortColumn(sort) ? sort : 'deviceId',
  };
}

function open({ search, filters: chosen, sort }: DeviceRequest): void {
  const query = { ...(search && { q: search }), ...(chosen.length > 0 && { show: chosen.join(',') }), sort };
  navigate(`/devices?${new URLSearchParams(query)}`, { replace: true });
}

/** Chooses a filter, or takes it back; another one of the same parameter goes. */
function toggle(chosen: readonly DeviceFilter[], name: DeviceFilter): DeviceFilter[] {
  if (chosen.includes(name)) return chosen.filter((one) => one !== name);
  const [parameter] = Object.keys(filters[name]);
  return [...chosen.filter((one) => Object.keys(filters[one])[0] !== parameter), name];
}

function Filters({ request }: { request: DeviceRequest }) {
  const { devices: text, map } = texts.value;
  return (
    <fieldset class="chips">
      <legend class="visually-hidden">{map.filter}</legend>
      {filterNames.map((name) => (
        <label key={name}>
          <input
            class="visually-hidden"
            type="checkbox"
            checked={request.filters.includes(name)}
            onChange={() => open({ ...request, filters: toggle(request.filters, name) })}
          />
          {text.filters[name]}
        </label>
      ))}
    </fieldset>
  );
}

function columns(): Column<TableDevice>[] {
  const { columns: titles } = texts.value.devices;
  const time = (moment: string | undefined, write: (moment: string) => string) =>
    moment && <span title={formatFull(moment)}>{write(moment)}</span>;
  return [
    {
      ...{ name: 'deviceId', title: titles.deviceId },
      cell: ({ deviceId }) => <a href={`/devices/${encodeURIComponent(deviceId)}`}>{deviceId}</a>,
    },
    {
      name: 'connection',
      title: titles.connection,
      isSortable: false,
      cell: (device) => <Connection device={device} />,
    },
    {
      ...{ name: 'plate', title: titles.plate },
      cell: ({ vehicleId, plate }) => vehicleId && <a href={`/vehicles/${vehicleId}`}>{plate}</a>,
    },
    { name: 'lastUpload', title: titles.lastUpload, cell: ({ lastUpload }) => time(lastUpload, formatAgo) },
    { name: 'model', title: titles.model, cell: ({ model }) => model },
    { name: 'appId', title: titles.appId, cell: ({ appId }) => appId },
    { name: 'secretIssuedAt', title: titles.secretIssuedAt, cell: (device) => time(device.secretIssuedAt, formatDay) },
    {
      ...{ name: 'quarantined', title: titles.quarantined, isNumber: true },
      cell: ({ quarantined }) => (quarantined > 0 ? formatNumber(quarantined) : ''),
    },
  ];
}

/** All devices as a table: searched, filtered and sorted by the platform. */
export function DevicesTable() {
  const { devices: text } = texts.value;
  const request = readRequest();
  const pages = usePages(
    (after) => loadPage(request, after),
    [request.search, request.sort, request.filters.join(',')],
  );
  return (
    <div class="table-screen">
      <div class="screen-bar">
        <Heading text={text.title} />
        <SearchBox
          label={text.searchLabel}
          placeholder={text.search}
          initial={request.search}
          onSearch={(search) => open({ ...readRequest(), search })}
        />
        <Filters request={request} />
        {hasRole('operator') && (
          <div class="screen-actions">
            <a class="button" href="/devices?add=file">
              {text.addMany}
            </a>
            <a class="button primary" href="/devices?add=one">
              {text.add}
            </a>
          </div>
        )}
      </div>
      <DataTable
        label={text.title}
        pages={pages}
        columns={columns()}
        keyOf={({ deviceId }) => deviceId}
        sort={request.sort}
        onSort={(sort) => isSortColumn(sort) && open({ ...request, sort })}
        count={text.count}
        empty={request.search || request.filters.length > 0 ? text.noMatch : text.none}
      />
    </div>
  );
}
