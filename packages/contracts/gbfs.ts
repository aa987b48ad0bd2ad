import Type, { type Static, type TProperties, type TSchema } from 'typebox';
import { storableUnicodePattern } from './text-patterns.ts';

// The GBFS 3.0 settings of an application. Members in snake_case are those of the specification
// (https://github.com/MobilityData/gbfs/blob/v3.0/gbfs.md); members in camelCase are Odograph's.

const object = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false });
const optional = <Properties extends Record<string, TSchema>>(properties: Properties) =>
  Type.Partial(Type.Object(properties)).properties;
const text = (maxLength: number, example: string) =>
  Type.String({ minLength: 1, maxLength, pattern: storableUnicodePattern, examples: [example] });
const list = <Item extends TSchema>(item: Item, maxItems: number) => Type.Array(item, { minItems: 1, maxItems });

/** Field type "ID", without the characters that a path would need to escape. */
export const systemIdPattern = '^[A-Za-z0-9._-]{1,64}$';
const Id = Type.String({ pattern: '^[A-Za-z0-9.@:/_-]{1,128}$', examples: ['car'] });
const Language = Type.String({ pattern: '^[a-z]{2,3}(-[A-Z]{2})?$', examples: ['en'] });
const Url = Type.String({ maxLength: 2048, pattern: '^https?://', format: 'uri', examples: ['https://share.example'] });
const AppUri = Type.String({ maxLength: 2048, format: 'uri', examples: ['com.example.share://'] });
const Email = Type.String({ maxLength: 254, format: 'email', examples: ['data@share.example'] });
const CalendarDate = Type.String({ format: 'date', examples: ['2026-03-02'] });
const Moment = Type.String({ format: 'date-time', examples: ['2026-03-02T08:30:00Z'] });
const Count = Type.Integer({ minimum: 0, maximum: 1e9 });
const Amount = Type.Number({ minimum: 0, maximum: 1e9 });

const localized = <Value extends TSchema>(value: Value) => list(object({ text: value, language: Language }), 30);
/** Field type "Array of Localized String": one for each language of the system. */
const LocalizedText = localized(text(2000, 'Example Car Sharing'));
const LocalizedUrl = localized(Url);

const RentalApp = object({ store_uri: AppUri, discovery_uri: AppUri });

/** The data of system_information.json. */
const SystemInformation = object({
  system_id: Type.String({ pattern: systemIdPattern, examples: ['example_paris'] }),
  languages: list(Language, 30),
  name: LocalizedText,
  opening_hours: text(1000, '24/7'),
  feed_contact_email: Email,
  timezone: Type.String({ pattern: '^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$', examples: ['Europe/Paris'] }),
  ...optional({
    short_name: LocalizedText,
    operator: LocalizedText,
    url: Url,
    purchase_url: Url,
    start_date: CalendarDate,
    termination_date: CalendarDate,
    phone_number: Type.String({ pattern: '^\\+[1-9]\\d{1,14}$', examples: ['+33109758000'] }),
    email: Email,
    manifest_url: Url,
    license_id: Type.String({ pattern: '^[A-Za-z0-9.+-]{1,64}$', examples: ['CC0-1.0'] }),
    license_url: Url,
    attribution_organization_name: LocalizedText,
    attribution_url: Url,
    terms_url: LocalizedUrl,
    terms_last_updated: CalendarDate,
    privacy_url: LocalizedUrl,
    privacy_last_updated: CalendarDate,
    rental_apps: object(optional({ android: RentalApp, ios: RentalApp })),
  }),
});

const word = <const Words extends string[]>(...words: Words) => Type.Enum(words);

/** An entry of vehicle_types.json, and which vehicles are of that type. */
const VehicleType = object({
  vehicle_type_id: Id,
  form_factor: word('bicycle', 'cargo_bicycle', 'car', 'moped', 'scooter_standing', 'scooter_seated', 'other'),
  propulsion_type: word(
    ...['human', 'electric_assist', 'electric', 'combustion', 'combustion_diesel', 'hybrid', 'plug_in_hybrid'],
    'hydrogen_fuel_cell',
  ),
  ...optional({
    /** Metres with a full battery or tank; required unless the propulsion is human. */
    max_range_meters: Type.Number({ minimum: 1, maximum: 1e7, examples: [395_000] }),
    name: LocalizedText,
    description: LocalizedText,
    make: LocalizedText,
    model: LocalizedText,
    color: Type.String({ pattern: '^[a-z]+( [a-z]+)*$', maxLength: 64, examples: ['dark blue'] }),
    rider_capacity: Count,
    cargo_volume_capacity: Count,
    cargo_load_capacity: Count,
    wheel_count: Count,
    max_permitted_speed: Count,
    rated_power: Count,
    g_CO2_km: Count,
    default_reserve_time: Count,
    return_constraint: word('free_floating', 'roundtrip_station', 'any_station', 'hybrid'),
    vehicle_accessories: Type.Array(
      word(
        'air_conditioning',
        'automatic',
        'manual',
        'convertible',
        'cruise_control',
        'navigation',
        'doors_2',
        'doors_3',
      ),
      { maxItems: 10 },
    ),
    eco_labels: Type.Array(
      object({
        country_code: Type.String({ pattern: '^[A-Z]{2}$', examples: ['FR'] }),
        eco_sticker: text(64, 'critair'),
      }),
      { maxItems: 30 },
    ),
    vehicle_image: Url,
    default_pricing_plan_id: Id,
    pricing_plan_ids: Type.Array(Id, { maxItems: 100 }),
    /** Properties of the vehicle record, case-insensitive; the first type whose members all match applies. */
    match: object(
      optional({
        brand: text(256, 'Renault'),
        model: text(256, 'Zoe'),
        kind: text(256, 'CITADINE'),
        energy: text(256, 'EL'),
      }),
    ),
    /** The range of a vehicle that reports neither a range nor a level; without it such a vehicle is not published. */
    rangeIfUnknownMeters: Type.Number({ minimum: 0, maximum: 1e7, examples: [50_000] }),
  }),
});

const PriceSegment = object({
  start: Count,
  rate: Type.Number({ minimum: -1e9, maximum: 1e9, examples: [0.29] }),
  interval: Count,
  ...optional({ end: Count }),
});

/** An entry of system_pricing_plans.json. */
const PricingPlan = object({
  plan_id: Id,
  name: LocalizedText,
  currency: Type.String({ pattern: '^[A-Z]{3}$', examples: ['EUR'] }),
  price: Amount,
  is_taxable: Type.Boolean(),
  description: LocalizedText,
  ...optional({
    url: Url,
    per_km_pricing: Type.Array(PriceSegment, { maxItems: 100 }),
    per_min_pricing: Type.Array(PriceSegment, { maxItems: 100 }),
    surge_pricing: Type.Boolean(),
  }),
});

const Rule = object({
  ride_start_allowed: Type.Boolean(),
  ride_end_allowed: Type.Boolean(),
  ride_through_allowed: Type.Boolean(),
  ...optional({
    vehicle_type_ids: list(Id, 100),
    maximum_speed_kph: Count,
    station_parking: Type.Boolean(),
  }),
});

/** geofencing_zones.json, with geofences of the application by their ids. */
const Geofencing = object({
  zones: Type.Array(
    object({
      geofenceId: Type.String({ format: 'uuid', examples: ['0197a1de-5f0e-7000-8000-000000000004'] }),
      ...optional({ name: LocalizedText, start: Moment, end: Moment, rules: list(Rule, 100) }),
    }),
    { maxItems: 1000 },
  ),
  globalRules: list(Rule, 100),
});

/** The settings as an operator writes them; docs/gbfs.md explains the members. */
export const GbfsSettings = object({
  publicUrl: Type.String({
    maxLength: 256,
    pattern: '^(https://|http://(localhost|127\\.0\\.0\\.1)(:|/|$))[^?#\\s]*$',
    description: 'address at which the public reaches the platform; https, except on this machine',
    examples: ['https://telematics.example'],
  }),
  system: SystemInformation,
  vehicleTypes: list(VehicleType, 100),
  stations: Type.Union(
    [Type.Enum(['all', 'none']), list(Type.String({ maxLength: 16, examples: ['K7QX2M'] }), 10_000)],
    { description: 'the parking spots that are published: all with coordinates, none, or those with these short ids' },
  ),
  ...optional({
    pricingPlans: Type.Array(PricingPlan, { maxItems: 100 }),
    geofencing: Geofencing,
    vehicleIds: Type.Array(Type.String({ pattern: '^[1-9]\\d{9}$', examples: ['1000000001'] }), {
      maxItems: 10_000,
      description: 'the only vehicles that are published; all of the application without it',
    }),
    ttlSeconds: Type.Integer({
      minimum: 5,
      maximum: 300,
      description: 'seconds between two computations; 30 without it',
    }),
    positionMaxAgeMinutes: Type.Integer({
      minimum: 5,
      maximum: 10_080,
      description: 'a vehicle with an older position is not published; 1,500 (25 hours) without it',
    }),
    stationRadiusMetres: Type.Integer({
      minimum: 10,
      maximum: 5000,
      description: 'how far from its parking spot a vehicle still stands there; 300 without it',
    }),
  }),
});
export type GbfsSettings = Static<typeof GbfsSettings>;
export type GbfsVehicleType = Static<typeof VehicleType>;
export type GbfsZone = Static<typeof Geofencing>['zones'][number];
