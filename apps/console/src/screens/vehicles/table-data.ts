import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';

export type TableVehicle = Schema<'TableVehicle'>;

/** What the table shows, as in its address. */
export interface TableRequest {
  readonly search: string;
  /** None: all but archived. */
  readonly states: readonly string[];
  /** A column, with a minus sign in descending order. */
  readonly sort: string;
}

export interface TablePage {
  readonly vehicles: readonly TableVehicle[];
  /** On the first page only. */
  readonly total: number | undefined;
  /** Where the next page begins; undefined on the last one. */
  readonly after: string | undefined;
}

const pageSize = 200;

/** The parameters of GET /v1/x/vehicles. */
export function parametersOf({ search, states, sort }: TableRequest): Readonly<Record<string, string>> {
  return { ...(search !== '' && { q: search }), ...(states.length > 0 && { state: states.join(',') }), sort };
}

/** Loads a page of the table. @throws CallFailure */
export async function loadPage(request: TableRequest, after: string | undefined): Promise<TablePage> {
  const query = { ...parametersOf(request), limit: pageSize, ...(after !== undefined && { after }) };
  const call = api.GET('/v1/x/vehicles', { params: { query } });
  const { vehicles, total } = onlyJson(await answerOf(call));
  const link = (await call).response.headers.get('link') ?? '';
  const next = /[?&]after=([^&>]+)/.exec(link)?.[1];
  return { vehicles, total, after: next === undefined ? undefined : decodeURIComponent(next.replaceAll('+', ' ')) };
}

/** The same address also answers CSV. @throws CallFailure */
function onlyJson<Table>(answer: Table | string): Table {
  if (typeof answer === 'string') throw new CallFailure('UNEXPECTED', 'the answer is not JSON');
  return answer;
}
