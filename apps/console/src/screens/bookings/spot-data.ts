import { answerOf, api, type Schema } from '../../api/client.ts';
import { headerFor } from '../../parts/layout/application-choice.tsx';

export type Spot = Schema<'ParkingSpot'>;

/** The texts of a spot that a person types, in the order of the form. */
export const spotTexts = ['name', 'address', 'address2', 'zipcode', 'city', 'country'] as const;

/** Reads the parking spots of an application. @throws CallFailure */
export async function loadSpots(appId: string): Promise<readonly Spot[]> {
  return (await answerOf(api.GET('/v1/parkings', { params: { header: headerFor(appId) } }))).parkings;
}

/** A spot while a person writes it. */
export type SpotDraft = Readonly<Record<(typeof spotTexts)[number], string>> & {
  readonly latitude: number | undefined;
  readonly longitude: number | undefined;
};

/** The draft of a spot, empty for a new one. */
export function draftOf(spot: Spot | undefined): SpotDraft {
  const { name = '', address = '', address2 = '', zipcode = '', city = '', country = '' } = spot ?? {};
  return { name, address, address2, zipcode, city, country, latitude: spot?.latitude, longitude: spot?.longitude };
}

/** Creates a spot, or changes one. @throws CallFailure */
export function saveSpot(appId: string, id: string | undefined, draft: SpotDraft): Promise<unknown> {
  const { latitude, longitude, ...written } = draft;
  const body = { ...written, ...(latitude !== undefined && longitude !== undefined && { latitude, longitude }) };
  const header = headerFor(appId);
  return id === undefined
    ? answerOf(api.POST('/v1/parkings', { params: { header }, body }))
    : answerOf(api.POST('/v1/parkings/{id}', { params: { path: { id }, header }, body }));
}
