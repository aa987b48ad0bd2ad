import { platePattern } from '@odograph/contracts/text-patterns';
import { text, word } from '@odograph/http/schemas';
import Type, { type Static, type TSchema } from 'typebox';

export const accessories = ['TEMPERATURE-SENSOR', 'CARDHOLDER', 'KEY-DETECTOR'] as const;
export const Plate = Type.String({
  minLength: 1,
  maxLength: 32,
  examples: ['AB-123-CD'],
  pattern: platePattern,
  // JSON in UTF-8 has no unpaired surrogates, and not every engine of regular expressions knows them.
  documentedAs: { pattern: '^[^\\u0000-\\u001f]*[A-Za-z0-9][^\\u0000-\\u001f]*$' },
});

const shortText = (example: string) => text(0, 64, { examples: [example] });

const Description = {
  vin: shortText('VF1AG000000000001'),
  brand: shortText('Renault'),
  model: shortText('Zoe'),
  energy: shortText('EL'),
  seats: Type.Integer({ minimum: 0, maximum: 1000 }),
  gearbox: word(['', 'AUTOMATIC', 'MANUAL']),
  kind: shortText('VP'),
  accessories: Type.Array(word(accessories), { maxItems: accessories.length, uniqueItems: true }),
  tankLitres: Type.Number({ minimum: 0, maximum: 1_000_000, description: 'capacity of the fuel tank; 0 if unknown' }),
};

/** A vehicle as it is stored. */
export const DescribedVehicle = Type.Object({ plate: Plate, ...Description });
export type DescribedVehicle = Static<typeof DescribedVehicle>;

const withDefault = <Schema extends TSchema>(schema: Schema, value: Static<Schema>) =>
  Type.Unsafe<Static<Schema>>({ ...schema, default: value });

/** The description of a new vehicle without its plate. */
export const DescriptionFields = {
  vin: withDefault(Description.vin, ''),
  brand: withDefault(Description.brand, ''),
  model: withDefault(Description.model, ''),
  energy: withDefault(Description.energy, ''),
  seats: withDefault(Description.seats, 0),
  gearbox: withDefault(Description.gearbox, ''),
  kind: withDefault(Description.kind, ''),
  accessories: withDefault(Description.accessories, []),
  tankLitres: withDefault(Description.tankLitres, 0),
};
