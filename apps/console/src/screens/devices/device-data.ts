import { answerOf, api, type Schema } from '../../api/client.ts';
import { nextPage, type Page } from '../../api/use-pages.ts';

export type TableDevice = Schema<'TableDevice'>;
export type DeviceDetail = Schema<'DeviceDetail'>;

/** The filters of the table, as in its address. */
export interface DeviceRequest {
  readonly search: string;
  readonly filters: readonly DeviceFilter[];
  /** A column, with a minus sign in descending order. */
  readonly sort: DeviceSort;
}

const sortColumns = [
  ...(['deviceId', 'model', 'appId', 'plate', 'createdAt', 'secretIssuedAt', 'lastUpload', 'quarantined'] as const),
] as const;
type SortColumn = (typeof sortColumns)[number];
export type DeviceSort = SortColumn | `-${SortColumn}`;

/** Each filter with the parameter of GET /v1/x/devices that it sets; those of one parameter exclude each other. */
export const filters = {
  connected: { connected: 'true' },
  disconnected: { connected: 'false' },
  unlinked: { linked: 'false' },
  quarantined: { quarantined: 'true' },
} as const;
export type DeviceFilter = keyof typeof filters;
export const filterNames = Object.keys(filters).filter((name) => name in filters) as readonly DeviceFilter[];

export const isSortColumn = (name: string): name is DeviceSort =>
  sortColumns.some((column) => name === column || name === `-${column}`);

const pageSize = 200;

/** Loads a page of the table. @throws CallFailure */
export async function loadPage(request: DeviceRequest, after: string | undefined): Promise<Page<TableDevice>> {
  const { search, sort } = request;
  const query = {
    ...{ sort, limit: pageSize },
    ...(search !== '' && { q: search }),
    ...Object.assign({}, ...request.filters.map((name) => filters[name])),
    ...(after !== undefined && { after }),
  };
  const call = api.GET('/v1/x/devices', { params: { query } });
  const { devices, total } = await answerOf(call);
  return { rows: devices, total, after: nextPage((await call).response) };
}
