import { answerOf, api, onlyJson, type Schema } from '../../api/client.ts';
import { nextPage, type Page } from '../../api/use-pages.ts';

export type TableVehicle = Schema<'TableVehicle'>;

/** What the table shows, as in its address. */
export interface TableRequest {
  readonly search: string;
  /** None: all but archived. */
  readonly states: readonly string[];
  /** A column, with a minus sign in descending order. */
  readonly sort: string;
}

const pageSize = 200;

/** The parameters of GET /v1/x/vehicles. */
export function parametersOf({ search, states, sort }: TableRequest): Readonly<Record<string, string>> {
  return { ...(search !== '' && { q: search }), ...(states.length > 0 && { state: states.join(',') }), sort };
}

/** Loads a page of the table. @throws CallFailure */
export async function loadPage(request: TableRequest, after: string | undefined): Promise<Page<TableVehicle>> {
  const query = { ...parametersOf(request), limit: pageSize, ...(after !== undefined && { after }) };
  const call = api.GET('/v1/x/vehicles', { params: { query } });
  const { vehicles, total } = onlyJson(await answerOf(call));
  return { rows: vehicles, total, after: nextPage((await call).response) };
}
