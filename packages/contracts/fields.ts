// Imports nothing, because the console bundles this table for the browser.

/** The unit and bounds of a field of a reading, for everything that shows it. */
export interface FieldFacts {
  /** Empty for words, flags, counts and texts. */
  readonly unit: string;
  /** Decimals to show. */
  readonly decimals: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** UNIX seconds or milliseconds, or ISO 8601. */
  readonly isTime?: true;
  /** True or false; 1 or 0 in series. */
  readonly isFlag?: true;
  /** Devices send 0 for an unknown value. */
  readonly isUnknownAtZero?: true;
  /** Another field with the same quantity; the newer value of the two counts. */
  readonly sameAs?: string;
}

type Options = Omit<Partial<FieldFacts>, 'unit' | 'decimals'>;

const fact = (unit = '', decimals = 0, options: Options = {}): FieldFacts => ({ unit, decimals, ...options });
const percent = (options: Options = {}): FieldFacts => fact('%', 0, { minimum: 0, maximum: 100, ...options });
const flag = (): FieldFacts => fact('', 0, { isFlag: true });
const isUnknownAtZero = true;

/** The fields of readings by group, in display order (schemas: telemetry.ts). */
export const readingFields = {
  location: {
    latitude: fact('°', 5, { minimum: -90, maximum: 90 }),
    longitude: fact('°', 5, { minimum: -180, maximum: 180 }),
    speed: fact('km/h'),
    altitude: fact('m'),
    angle: fact('°', 0, { minimum: 0, maximum: 360 }),
    satellites: fact(),
  },
  status: {
    ignition: flag(),
    movement: flag(),
    mileage: fact('km', 0, { isUnknownAtZero }),
    autonomy: fact('km', 0, { isUnknownAtZero }),
  },
  electric: {
    soc: percent(),
    soh: percent({ isUnknownAtZero }),
    current: fact('A', 1),
    voltage: fact('V', 1, { isUnknownAtZero }),
    energy: fact('kWh', 1),
    maxEnergy: fact('kWh', 1, { isUnknownAtZero }),
    temperature: fact('°C', 1),
    minCellVoltage: fact('V', 3, { isUnknownAtZero }),
    maxCellVoltage: fact('V', 3, { isUnknownAtZero }),
    minCellTemperature: fact('°C', 1),
    maxCellTemperature: fact('°C', 1),
    lifetimePowerUse: fact('kWh', 0, { isUnknownAtZero }),
    lifetimeChargePower: fact('kWh', 0, { isUnknownAtZero }),
  },
  fleet: {
    lock: fact(),
    doors: fact(),
    windows: fact(),
    engine: fact(),
    immobilizer: fact(),
    handbrake: fact(),
    lights: fact(),
    vehicleKey: flag(),
    fuel: fact('l', 1),
    fuelRange: percent(),
    chargingAdapterStatus: fact(),
    ChargingStatus: fact(),
    ChargingUntil: fact('', 0, { isTime: true, isUnknownAtZero }),
    ChargeLevel: percent({ sameAs: 'soc' }),
    RemainingRange: fact('km', 0, { isUnknownAtZero, sameAs: 'autonomy' }),
    speed: fact('km/h', 0, { sameAs: 'speed' }),
    mileage: fact('km', 0, { isUnknownAtZero, sameAs: 'mileage' }),
    bluetooth: fact(),
    authenticated: flag(),
    cardholder: fact(),
  },
  alarms: {
    towing: flag(),
    crash: flag(),
    gps_jamming: flag(),
    gnss_jamming: flag(),
  },
} satisfies Readonly<Record<string, Readonly<Record<string, FieldFacts>>>>;

/** The values of Bluetooth sensors by key; other keys are free-form names. */
export const sensorFields: Readonly<Record<string, FieldFacts>> = {
  temperature: fact('°C', 1),
  humidity: percent(),
  battery: percent(),
  battery_voltage: fact('V', 2),
  low_battery: flag(),
  rssi: fact('dBm'),
  pitch: fact('°'),
  roll: fact('°'),
  magnet: flag(),
  movement: flag(),
  movement_count: fact(),
};

/** The fields with a quantity over time, by their names in exports and series. */
export const quantityFields = {
  ...readingFields.location,
  ...readingFields.status,
  ...readingFields.electric,
} satisfies Readonly<Record<string, FieldFacts>>;
