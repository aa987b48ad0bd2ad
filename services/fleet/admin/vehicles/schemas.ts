import { platePattern } from '@odograph/contracts/text-patterns';
import { text, word } from '@odograph/http/schemas';
import Type from 'typebox';

const accessories = ['TEMPERATURE-SENSOR', 'CARDHOLDER', 'KEY-DETECTOR'] as const;
const optionalText = Type.Unsafe<string>({ ...text(0, 64), default: '' });

export const Plate = Type.String({ minLength: 1, maxLength: 32, pattern: platePattern });

/** The description of a vehicle without its plate. */
export const DescriptionFields = {
  vin: optionalText,
  brand: optionalText,
  model: optionalText,
  energy: optionalText,
  seats: Type.Integer({ minimum: 0, maximum: 1000, default: 0 }),
  gearbox: Type.Unsafe<'' | 'AUTOMATIC' | 'MANUAL'>({ ...word(['', 'AUTOMATIC', 'MANUAL']), default: '' }),
  kind: optionalText,
  accessories: Type.Array(word(accessories), { maxItems: accessories.length, uniqueItems: true, default: [] }),
};
