import type { LinkedReading } from './link-readings.ts';

type Scalar = number | boolean | string | undefined;

/** A column of `reading` outside its key, with the field of the device reading that fills it. */
export interface ReadingColumn {
  name: string;
  type: 'double precision' | 'boolean' | 'smallint' | 'bigint' | 'text' | 'jsonb';
  value(linked: LinkedReading): Scalar;
}

const electric = {
  soh: 'soh',
  soc: 'soc',
  current: 'current',
  voltage: 'voltage',
  energy: 'energy',
  max_energy: 'maxEnergy',
  min_cell_voltage: 'minCellVoltage',
  max_cell_voltage: 'maxCellVoltage',
  temperature: 'temperature',
  min_cell_temperature: 'minCellTemperature',
  max_cell_temperature: 'maxCellTemperature',
  lifetime_power_use: 'lifetimePowerUse',
  lifetime_charge_power: 'lifetimeChargePower',
} as const;

const json = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));

/** The mapping of readings to rows; statements and parameters are made from it. */
export const readingColumns: readonly ReadingColumn[] = [
  { name: 'latitude', type: 'double precision', value: ({ reading }) => reading.location?.latitude },
  { name: 'longitude', type: 'double precision', value: ({ reading }) => reading.location?.longitude },
  { name: 'angle', type: 'double precision', value: ({ reading }) => reading.location?.angle },
  { name: 'altitude', type: 'double precision', value: ({ reading }) => reading.location?.altitude },
  { name: 'speed', type: 'double precision', value: ({ reading }) => reading.location?.speed ?? reading.fleet?.speed },
  { name: 'satellites', type: 'smallint', value: ({ reading }) => reading.location?.satellites },
  { name: 'ignition', type: 'boolean', value: ({ reading }) => reading.status?.ignition },
  { name: 'movement', type: 'boolean', value: ({ reading }) => reading.status?.movement },
  { name: 'mileage', type: 'double precision', value: ({ reading }) => reading.status?.mileage },
  { name: 'autonomy', type: 'double precision', value: ({ reading }) => reading.status?.autonomy },
  ...Object.entries(electric).map(
    ([name, field]): ReadingColumn => ({
      name,
      type: 'double precision',
      value: ({ reading }) => reading.electric?.[field],
    }),
  ),
  { name: 'can', type: 'jsonb', value: ({ reading }) => json(reading.can) },
  { name: 'sensors', type: 'jsonb', value: ({ reading }) => json(reading.sensors) },
  { name: 'fleet', type: 'jsonb', value: ({ reading }) => json(reading.fleet) },
  { name: 'alarms', type: 'jsonb', value: ({ reading }) => json(reading.alarms) },
  { name: 'frames', type: 'jsonb', value: ({ reading }) => json(reading.frames) },
  { name: 'decoded_can', type: 'jsonb', value: ({ decodedCan }) => json(decodedCan) },
  { name: 'sequence', type: 'bigint', value: ({ reading }) => reading.sequence },
];
