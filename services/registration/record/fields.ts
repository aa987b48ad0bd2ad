import Type, { type Static } from 'typebox';

const text = (description: string, example = '') => Type.String({ description, examples: [example] });
const number = (description: string) => Type.Number({ description });
const flag = (description: string) => Type.Boolean({ description });

const Certificate = Type.Object(
  {
    plate: text('plate (A)', 'AB-123-CD'),
    first_registration: text('date of first registration (B)', '2021-05-17'),
    brand: text('make (D.1)', 'RENAULT'),
    type_variant_version: text('type, variant or version (D.2)'),
    cnit: text('national type identification code (D.2.1)'),
    model: text('commercial name (D.3)', 'ZOE'),
    vin: text('VIN (E)', 'VF1AG000000000001'),
    mass_f1: number('maximum technically permissible laden mass (F.1)'),
    mass_f2: number('the same except motorcycles, kg (F.2)'),
    mass_f3: number('maximum permissible laden mass of the combination in the member state, kg (F.3)'),
    mass_g: number('mass in service, kg (G)'),
    unloaded_weight: number('national unladen weight (G.1)'),
    category: text('vehicle category (J)'),
    national_type: text('national type (J.1)'),
    national_bodywork: text('bodywork, national designation (J.3)'),
    reception_number: text('type approval number (K)'),
    displacement: number('cm3 (P.1)'),
    max_net_power: number('kW (P.2)'),
    energy: text('fuel or energy source (P.3)', 'EL'),
    administrative_power: number('national administrative power (P.6)'),
    power_mass_ratio: number('kW/kg, motorcycles only (Q)'),
    seats: number('seating positions including the driver (S.1)'),
    standing_places: number('standing places (S.2)'),
    sound_level: number('stationary sound level, dB(A) (U.1)'),
    engine_speed: number('1/min (U.2)'),
    co2: number('g/km (V.7)'),
    environmental_class: text('EC environmental class (V.9)'),
    certificate_date: text('certificate date (I)'),
  },
  { title: 'Certificate' },
);

const AdditionalInformation = Type.Object(
  {
    color: text('color'),
    model: text('model name'),
    generation: text('generation'),
    additional_model: text('extra model-name data'),
    full_version: text('full version'),
    version: text('version'),
    cylinders_in_liters: number('displacement, litres'),
    injection_label: text('injection'),
    injection_type: text('injection type'),
    valves: number('number of valves'),
    horsepower: number('horsepower'),
    bodywork: text('bodywork'),
    commercial_start_date: text('commercial launch date'),
    commercial_end_date: text('commercial end date'),
    phase: text('commercial phase'),
    doors: number('number of doors'),
    engine_code: text('engine code'),
    transmission_type: text('transmission type'),
    euro_standard: text('Euro standard'),
    particulate_filter: flag('particulate filter present'),
    adblue: flag('AdBlue'),
    gearbox_code: text('gearbox code'),
    gearbox_type: text('gearbox type'),
    gears: number('number of gears'),
    crit_air: text("Crit'Air sticker, France only"),
    urban_co2: number('g/km, urban'),
    extra_urban_co2: number('g/km, extra-urban'),
    urban_fuel_consumption: number('urban consumption'),
    extra_urban_fuel_consumption: number('extra-urban consumption'),
    combined_fuel_consumption: number('combined consumption'),
    starter_battery_power: number('starter battery power'),
    starter_battery_capacity: number('starter battery capacity'),
    rear_braking_system: text('rear braking system'),
    rear_trunk_capacity: number('litres'),
    extended_rear_trunk_capacity: number('litres'),
    max_length: number('maximum length'),
    combined_horse_power: number('combined power'),
    wheel_drive: text('drive wheels'),
    front_axle_type: text('front suspension type'),
    rear_axle_type: text('rear suspension type'),
  },
  { title: 'AdditionalInformation' },
);

const Fluids = Type.Object(
  {
    fuel_tank_capacity: number('fuel tank'),
    engine_oil_standard: text('engine oil'),
    engine_oil_acea: text('engine oil, ACEA class'),
    engine_oil_viscosity: text('engine oil'),
    engine_oil_with_filter_capacity_min: number('engine oil, filter included'),
    engine_oil_with_filter_capacity_max: number('engine oil, filter included'),
    brake_fluid_capacity: number('brake fluid'),
    brake_fluid_standard: text('brake fluid'),
    engine_coolant_capacity_min: number('engine coolant'),
    engine_coolant_capacity_max: number('engine coolant'),
    engine_coolant_type: text('engine coolant'),
    air_conditioning_gas_capacity_min: number('air conditioning gas'),
    air_conditioning_gas_capacity_max: number('air conditioning gas'),
    air_conditioning_gas_standard: text('air conditioning gas'),
    power_steering_fluid_capacity: number('power steering fluid'),
    power_steering_fluid_standard: text('power steering fluid'),
  },
  { title: 'Fluids' },
);

const Electric = Type.Object(
  {
    front_engine_type: text('front engine type'),
    front_engine_kw_power: number('kW'),
    front_engine_horsepower: number('horsepower'),
    '1st_rear_engine_type': text('first rear engine type'),
    '1st_rear_engine_kw_power': number('kW'),
    '1st_rear_engine_horsepower': number('horsepower'),
    '2nd_rear_engine_type': text('second rear engine type'),
    '2nd_rear_engine_kw_power': number('kW'),
    '2nd_rear_engine_horsepower': number('horsepower'),
    combined_kw_power: number('combined power'),
    engine_cooling_type: text('engine cooling type'),
    front_engine_nm_torque: number('torque'),
    '1st_rear_engine_nm_torque': number('torque'),
    '2nd_rear_engine_nm_torque': number('torque'),
    combined_nm_torque: number('combined torque'),
    battery_weight: number('weight'),
    battery_layout: text('position'),
    battery_type: text('type'),
    battery_voltage: number('voltage'),
    battery_kw_power: number('power'),
    '1st_battery_kwh_capacity': number('capacity'),
    usable_1st_battery_kwh_capacity: number('usable capacity'),
    '2nd_battery_kwh_capacity': number('capacity'),
    usable_2nd_battery_kwh_capacity: number('usable capacity'),
    charging_plug: text('charging plug'),
    dc_charger_power_kw: number('DC charger power'),
    dc_charging_time_min: number('minimum DC charging time'),
    ac_charger_power_kw: number('AC charger power'),
    ac_charging_time_80_home_min: number('minutes to 80 %'),
    ac_charging_time_80_home_reinforced_min: number('minutes to 80 %, reinforced'),
    ac_charging_time_80_wallbox_min: number('minutes to 80 % at a station'),
    acceleration_0_100: number('0 to 100 km/h'),
    max_speed: number('maximum speed'),
    wltp_combined_autonomy_summer: number('range, combined driving'),
    wltp_combined_autonomy_winter: number('range, combined driving'),
    wltp_urban_autonomy_summer: number('range, urban driving'),
    wltp_urban_autonomy_winter: number('range, urban driving'),
    wltp_highway_autonomy_summer: number('range, highway driving'),
    wltp_highway_autonomy_winter: number('range, highway driving'),
    combined_consumption_kwh_100km_summer: number('per 100 km, combined'),
    combined_consumption_kwh_100km_winter: number('per 100 km, combined'),
    urban_consumption_kwh_100km_summer: number('per 100 km, urban'),
    urban_consumption_kwh_100km_winter: number('per 100 km, urban'),
    highway_consumption_kwh_100km_summer: number('per 100 km, highway'),
    highway_consumption_kwh_100km_winter: number('per 100 km, highway'),
  },
  { title: 'ElectricData' },
);

const Tires = Type.Object(
  {
    front_display: text('reference'),
    front_width: number('width'),
    front_ratio: number('aspect ratio'),
    front_radial: number('rim diameter'),
    front_load: number('load index'),
    front_speed: text('speed index'),
    front_normal_pressure: number('recommended pressure'),
    front_highway_pressure: number('recommended pressure on highways'),
    front_is_summer: flag('summer tire'),
    front_is_winter: flag('winter tire'),
    front_is_all_season: flag('all-season tire'),
    rear_display: text('reference'),
    rear_width: number('width'),
    rear_ratio: number('aspect ratio'),
    rear_radial: number('rim diameter'),
    rear_load: number('load index'),
    rear_speed: text('speed index'),
    rear_normal_pressure: number('recommended pressure'),
    rear_highway_pressure: number('recommended pressure on highways'),
    rear_is_summer: flag('summer tire'),
    rear_is_winter: flag('winter tire'),
    rear_is_all_season: flag('all-season tire'),
  },
  { title: 'Tires' },
);

/**
 * The fields of a registration record (interface specification, "Static registration data"). Unknown values are an empty
 * String, 0 or false; `tires` has at least one element.
 */
export const RegistrationRecord = Type.Object(
  {
    certificate: Certificate,
    additional_information: AdditionalInformation,
    fluids: Fluids,
    electric: Electric,
    tires: Type.Array(Tires),
  },
  { title: 'RegistrationRecord' },
);
export type RegistrationRecord = Static<typeof RegistrationRecord>;

/** Known values by the path of their field, such as `certificate.brand` or `tires.0.front_width`. */
export type Fields = ReadonlyMap<string, FieldValue>;
export type FieldValue = string | number | boolean;
export type FieldType = 'string' | 'number' | 'boolean';

export const maxTires = 10;

const sections = RegistrationRecord.properties;
const tireProperties = sections.tires.items.properties;
const objectSections = ['certificate', 'additional_information', 'fluids', 'electric'] as const;
const defaults = { string: '', number: 0, boolean: false } as const;
const tirePath = /^tires\.(\d)\.(\w+)$/;

const typesByPath: ReadonlyMap<string, FieldType> = new Map(
  objectSections.flatMap((section) =>
    Object.entries(sections[section].properties).map(([name, { type }]) => [`${section}.${name}`, type] as const),
  ),
);
const tireTypes: ReadonlyMap<string, FieldType> = new Map(
  Object.entries(tireProperties).map(([name, { type }]) => [name, type] as const),
);

/** The path of every field in the order of the specification; tires are listed for the first element only. */
export const fieldPaths: readonly string[] = [
  ...typesByPath.keys(),
  ...[...tireTypes.keys()].map((name) => `tires.0.${name}`),
];

const pathsByName: ReadonlyMap<string, string> = new Map(
  fieldPaths.toReversed().map((path) => [path.slice(path.lastIndexOf('.') + 1), path]),
);

/** Returns the type of the field with this path, undefined when there is no such field. */
export function fieldType(path: string): FieldType | undefined {
  const [, , name] = tirePath.exec(path) ?? [];
  return name === undefined ? typesByPath.get(path) : tireTypes.get(name);
}

/** Completes the name of a field with its section; a name without a section means the first section that has it. */
export function fullPath(name: string): string | undefined {
  return fieldType(name) === undefined ? pathsByName.get(name) : name;
}

/** Returns true for the values that mean missing information (specification, general convention 4). */
export function isMissing(value: FieldValue): boolean {
  return value === '' || value === 0 || value === false;
}

function completed(types: ReadonlyMap<string, FieldType>, prefix: string, fields: Fields): Record<string, FieldValue> {
  return Object.fromEntries([...types].map(([name, type]) => [name, fields.get(`${prefix}${name}`) ?? defaults[type]]));
}

/** Builds the record of an answer, with every field present. */
export function toRecord(fields: Fields): RegistrationRecord {
  const flat = completed(typesByPath, '', fields);
  const section = (name: string) =>
    Object.fromEntries(
      Object.entries(flat)
        .filter(([path]) => path.startsWith(`${name}.`))
        .map(([path, value]) => [path.slice(name.length + 1), value]),
    );
  const tireIndexes = [...fields.keys()].map((path) => Number(tirePath.exec(path)?.[1] ?? 0));
  const tires = Array.from({ length: Math.max(0, ...tireIndexes) + 1 }, (_, index) =>
    completed(tireTypes, `tires.${index}.`, fields),
  );
  const record = { ...Object.fromEntries(objectSections.map((name) => [name, section(name)])), tires };
  return record as unknown as RegistrationRecord;
}
