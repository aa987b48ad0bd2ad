/** What a trip was for, as tax offices distinguish it. */
export const tripClasses = ['business', 'private', 'commute'] as const;
export type TripClass = (typeof tripClasses)[number];

/** An entry of the mileage log later than this after the end of its trip is late: tax offices want it without delay. */
export const mileageEntryDays = 7;
