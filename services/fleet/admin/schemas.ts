import Type from 'typebox';

/** Where a list goes on: `after` is the last id of the page before. */
export const pageLimit = Type.Integer({ minimum: 1, maximum: 10_000, default: 1000 });

/** A device's secret, shown once. */
export const DeviceSecret = Type.Object({ deviceId: Type.String(), secret: Type.String() });
