/** The purposes of a trip that tax authorities distinguish. */
export const tripClasses = ['business', 'private', 'commute'] as const;
export type TripClass = (typeof tripClasses)[number];

/** Days after the end of a trip until an entry of the mileage log is late: tax authorities require timely entries. */
export const mileageEntryDays = 7;
